"""RBAC allows, forbids, impersonates and prevents escalation as in Kubernetes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.dev.apiserver.admission.chain import CREATE, Attributes, Chain
from webhook.dev.apiserver.auth import authorization, impersonation, rbac
from webhook.dev.apiserver.auth.escalation import EscalationGuard
from webhook.dev.apiserver.auth.impersonation import ImpersonatedUser
from webhook.dev.apiserver.auth.rbac import AccessAttributes, Decision, Rbac
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import Call, User
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.storage.store import Store
from webhook.kube.status import StatusError

GROUP = "rbac.authorization.k8s.io"
BOB = User("bob", ("dev", "system:authenticated"))
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


@pytest.fixture
async def core(tmp_path):
    store = Store(tmp_path / "store.db", lambda storage, obj: {})
    await store.open()
    yield Core(store, Registry(), Chain(), lambda: datetime.now(UTC))
    await store.close()


async def _put(core: Core, plural: str, name: str, namespace: str = "", **more: Any) -> None:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "X", "metadata": metadata, **more}
    metadata.update(more.pop("metadata", {}))
    obj["metadata"] = metadata
    await core.store.put(core.store.collection(f"{plural}.{GROUP}"), obj, None)


def _binding(kind: str, role: str, *subjects: dict[str, str]) -> dict[str, Any]:
    return {"roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


@pytest.mark.parametrize(
    ("rule", "access", "expected"),
    [
        pytest.param(
            PODS, AccessAttributes("get", "", "pods"), True, id="verb, group and resource"
        ),
        pytest.param(PODS, AccessAttributes("delete", "", "pods"), False, id="another verb"),
        pytest.param(PODS, AccessAttributes("get", "apps", "pods"), False, id="another group"),
        pytest.param(
            PODS,
            AccessAttributes("get", "", "pods", "log"),
            False,
            id="a subresource is another resource",
        ),
        pytest.param(
            {**PODS, "resources": ["pods/log"]},
            AccessAttributes("get", "", "pods", "log"),
            True,
            id="a subresource",
        ),
        pytest.param(
            {**PODS, "resources": ["*/log"]},
            AccessAttributes("get", "", "pods", "log"),
            True,
            id="a subresource of any resource",
        ),
        pytest.param(
            {**PODS, "resources": ["*"]},
            AccessAttributes("get", "", "pods", "log"),
            True,
            id="everything",
        ),
        pytest.param(
            {**PODS, "resourceNames": ["x"]},
            AccessAttributes("get", "", "pods", name="x"),
            True,
            id="a name",
        ),
        pytest.param(
            {**PODS, "resourceNames": ["x"]},
            AccessAttributes("list", "", "pods"),
            False,
            id="no name",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/a/*"]},
            AccessAttributes("get", path="/a/b"),
            True,
            id="a path",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/a"]},
            AccessAttributes("get", path="/a/b"),
            False,
            id="another path",
        ),
    ],
)
def test_what_a_rule_allows(rule, access, expected):
    assert rbac.rule_allows(rule, access) is expected


async def test_decisions_name_the_binding(core):
    authorizer = Rbac(core)
    access_to_pods = AccessAttributes("get", "", "pods", namespace="n")
    assert authorizer.decide(User("root", ("system:masters",)), access_to_pods) == Decision(True)
    assert authorizer.decide(BOB, access_to_pods) == Decision(False)
    await _put(
        core, "rolebindings", "b", "n", **_binding("Role", "r", {"kind": "User", "name": "bob"})
    )
    reason = 'RBAC: role.rbac.authorization.k8s.io "r" not found'
    assert authorizer.decide(BOB, access_to_pods) == Decision(False, reason)
    await _put(core, "roles", "r", "n", rules=[PODS])
    reason = 'RBAC: allowed by RoleBinding "b/n" of Role "r" to User "bob"'
    assert authorizer.decide(BOB, access_to_pods) == Decision(True, reason)
    assert authorizer.decide(BOB, access_to_pods._replace(namespace="other")) == Decision(False)


async def test_aggregating_roles_have_the_rules_of_others(core):
    selector = {"matchLabels": {"to": "all"}}
    aggregation = {"clusterRoleSelectors": [selector]}
    await _put(core, "clusterroles", "all", aggregationRule=aggregation, rules=None)
    await _put(core, "clusterroles", "one", rules=[PODS], metadata={"labels": {"to": "all"}})
    subject = {"kind": "Group", "name": "dev"}
    await _put(core, "clusterrolebindings", "b", **_binding("ClusterRole", "all", subject))
    reason = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "all" to Group "dev"'
    assert Rbac(core).decide(BOB, AccessAttributes("get", "", "pods")) == Decision(True, reason)


@pytest.mark.parametrize(
    ("access", "message"),
    [
        pytest.param(
            AccessAttributes("list", "", "pods", namespace="n"),
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the '
            'namespace "n"',
            id="in a namespace",
        ),
        pytest.param(
            AccessAttributes("get", "apps", "deployments", "status", "n", "d"),
            'deployments.apps "d" is forbidden: User "bob" cannot get resource '
            '"deployments/status" in API group "apps" in the namespace "n"',
            id="a subresource of an object",
        ),
        pytest.param(
            AccessAttributes("list", "", "nodes"),
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the '
            "cluster scope",
            id="at the cluster scope",
        ),
        pytest.param(
            AccessAttributes("get", path="/metrics"),
            'forbidden: User "bob" cannot get path "/metrics"',
            id="a path",
        ),
    ],
)
def test_messages_of_a_403(access, message):
    assert authorization.forbidden(BOB, access).message == message


async def test_impersonation_requires_a_rule(core):
    authorizer = Rbac(core)
    wanted = ImpersonatedUser("ann", groups=["ops"])
    access = AccessAttributes("list", "", "pods", namespace="n")
    with pytest.raises(StatusError, match='cannot impersonate-on:user-info:list resource "pods"'):
        impersonation.impersonate(authorizer, BOB, wanted, access)
    rule = {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}
    await _put(core, "clusterroles", "imp", rules=[rule])
    subject = {"kind": "User", "name": "bob"}
    await _put(core, "clusterrolebindings", "imp", **_binding("ClusterRole", "imp", subject))
    found = impersonation.impersonate(authorizer, BOB, wanted, access)
    assert found == User("ann", ("ops", "system:authenticated"))


async def test_an_impersonated_service_account_has_its_groups(core):
    root = User("root", ("system:masters",))
    wanted = ImpersonatedUser("system:serviceaccount:n:a")
    found = impersonation.impersonate(
        Rbac(core), root, wanted, AccessAttributes("get", path="/api")
    )
    assert found.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:n",
        "system:authenticated",
    )


async def test_permissions_that_are_not_held_cannot_be_granted(core):
    guard = EscalationGuard(Rbac(core))
    resource = core.registry.get(GROUP, "v1", "roles")
    rules = [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "get"]}]
    role = {"metadata": {"name": "r", "namespace": "n"}, "rules": rules}
    call = Call(resource, RequestInfo(GROUP, "v1", "roles", "n"), "create", BOB)
    attributes = Attributes(call, CREATE, role, None, {}, name="r")
    with pytest.raises(StatusError) as raised:
        await guard.validate(attributes)
    assert raised.value.message == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "bob" '
        '(groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not '
        'currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )
    await _put(core, "clusterroles", "all", rules=rules)
    subject = {"kind": "User", "name": "bob"}
    await _put(core, "clusterrolebindings", "all", **_binding("ClusterRole", "all", subject))
    await guard.validate(attributes)
