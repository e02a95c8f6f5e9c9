"""Who may do what, by roles and bindings."""

from datetime import UTC, datetime
from typing import Any

import pytest

from webhook.api.status import StatusError
from webhook.apiserver import authorization, impersonation, rbac
from webhook.apiserver.admission import CREATE, Attributes, Chain
from webhook.apiserver.calls import Call, User
from webhook.apiserver.core import Core
from webhook.apiserver.escalation import EscalationGuard
from webhook.apiserver.impersonation import Wanted
from webhook.apiserver.rbac import Access, Decision, Rbac
from webhook.apiserver.registry import Registry
from webhook.apiserver.requests import Target
from webhook.apiserver.storage import Store

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


def _to(kind: str, role: str, *subjects: dict[str, str]) -> dict[str, Any]:
    return {"roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


@pytest.mark.parametrize(
    ("rule", "access", "expected"),
    [
        pytest.param(PODS, Access("get", "", "pods"), True, id="verb, group and resource"),
        pytest.param(PODS, Access("delete", "", "pods"), False, id="another verb"),
        pytest.param(PODS, Access("get", "apps", "pods"), False, id="another group"),
        pytest.param(PODS, Access("get", "", "pods", "log"), False, id="a part is not the whole"),
        pytest.param(
            {**PODS, "resources": ["pods/log"]}, Access("get", "", "pods", "log"), True, id="a part"
        ),
        pytest.param(
            {**PODS, "resources": ["*/log"]}, Access("get", "", "pods", "log"), True, id="any part"
        ),
        pytest.param(
            {**PODS, "resources": ["*"]}, Access("get", "", "pods", "log"), True, id="everything"
        ),
        pytest.param(
            {**PODS, "resourceNames": ["x"]}, Access("get", "", "pods", name="x"), True, id="a name"
        ),
        pytest.param(
            {**PODS, "resourceNames": ["x"]}, Access("list", "", "pods"), False, id="no name"
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/a/*"]},
            Access("get", path="/a/b"),
            True,
            id="a path",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/a"]},
            Access("get", path="/a/b"),
            False,
            id="another path",
        ),
    ],
)
def test_what_a_rule_allows(rule, access, expected):
    assert rbac.allows(rule, access) is expected


async def test_decisions(core):
    judge = Rbac(core)
    asked = Access("get", "", "pods", namespace="n")
    assert judge.decide(User("root", ("system:masters",)), asked) == Decision(True)
    assert judge.decide(BOB, asked) == Decision(False)
    await _put(core, "rolebindings", "b", "n", **_to("Role", "r", {"kind": "User", "name": "bob"}))
    reason = 'RBAC: role.rbac.authorization.k8s.io "r" not found'
    assert judge.decide(BOB, asked) == Decision(False, reason)
    await _put(core, "roles", "r", "n", rules=[PODS])
    reason = 'RBAC: allowed by RoleBinding "b/n" of Role "r" to User "bob"'
    assert judge.decide(BOB, asked) == Decision(True, reason)
    assert judge.decide(BOB, asked._replace(namespace="other")) == Decision(False)


async def test_roles_collect_the_rules_of_others(core):
    selector = {"matchLabels": {"to": "all"}}
    aggregation = {"clusterRoleSelectors": [selector]}
    await _put(core, "clusterroles", "all", aggregationRule=aggregation, rules=None)
    await _put(core, "clusterroles", "one", rules=[PODS], metadata={"labels": {"to": "all"}})
    subject = {"kind": "Group", "name": "dev"}
    await _put(core, "clusterrolebindings", "b", **_to("ClusterRole", "all", subject))
    reason = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "all" to Group "dev"'
    assert Rbac(core).decide(BOB, Access("get", "", "pods")) == Decision(True, reason)


@pytest.mark.parametrize(
    ("access", "message"),
    [
        pytest.param(
            Access("list", "", "pods", namespace="n"),
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the '
            'namespace "n"',
            id="in a namespace",
        ),
        pytest.param(
            Access("get", "apps", "deployments", "status", "n", "d"),
            'deployments.apps "d" is forbidden: User "bob" cannot get resource '
            '"deployments/status" in API group "apps" in the namespace "n"',
            id="a part of an object",
        ),
        pytest.param(
            Access("list", "", "nodes"),
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the '
            "cluster scope",
            id="cluster-wide",
        ),
        pytest.param(
            Access("get", path="/metrics"),
            'forbidden: User "bob" cannot get path "/metrics"',
            id="a path",
        ),
    ],
)
def test_refusals(access, message):
    assert authorization.denied(BOB, access).message == message


async def test_impersonation_needs_a_rule(core):
    judge = Rbac(core)
    wanted = Wanted("ann", groups=["ops"])
    access = Access("list", "", "pods", namespace="n")
    with pytest.raises(StatusError, match='cannot impersonate-on:user-info:list resource "pods"'):
        impersonation.impersonated(judge, BOB, wanted, access)
    rule = {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}
    await _put(core, "clusterroles", "imp", rules=[rule])
    subject = {"kind": "User", "name": "bob"}
    await _put(core, "clusterrolebindings", "imp", **_to("ClusterRole", "imp", subject))
    found = impersonation.impersonated(judge, BOB, wanted, access)
    assert found == User("ann", ("ops", "system:authenticated"))


async def test_an_impersonated_account_is_in_its_groups(core):
    root = User("root", ("system:masters",))
    wanted = Wanted("system:serviceaccount:n:a")
    found = impersonation.impersonated(Rbac(core), root, wanted, Access("get", path="/api"))
    assert found.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:n",
        "system:authenticated",
    )


async def test_nobody_grants_what_they_do_not_hold(core):
    guard = EscalationGuard(Rbac(core))
    resource = core.registry.get(GROUP, "v1", "roles")
    rules = [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "get"]}]
    role = {"metadata": {"name": "r", "namespace": "n"}, "rules": rules}
    call = Call(resource, Target(GROUP, "v1", "roles", "n"), "create", BOB)
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
    await _put(core, "clusterrolebindings", "all", **_to("ClusterRole", "all", subject))
    await guard.validate(attributes)
