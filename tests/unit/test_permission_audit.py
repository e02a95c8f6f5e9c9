import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support import permission_audit
from tests.support.permission_audit import UsedPermission, is_used, not_granted, read_log
from webhook.cli.install.generate.rules import PermissionRule
from webhook.cli.install.layout import InstallMode, Layout

BESIDE = Layout(beside_gardener=True, own=("managedseed",), garden_namespace="g")


def event(
    verb: str, resource: str, namespace: str = "", *, code: int = 200, **more: Any
) -> UsedPermission:
    """Return the first permission that a line of an audit log is about."""
    return events(verb, resource, namespace, code=code, **more)[0]


def events(
    verb: str, resource: str, namespace: str = "", *, code: int = 200, **more: Any
) -> list[UsedPermission]:
    name, _, subresource = resource.partition("/")
    user = "system:serviceaccount:own-ns:espalier"
    layout = more.pop("layout", BESIDE)
    line = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": user, "groups": [*permission_audit.groups_of(layout)]},
        "objectRef": {"resource": name, "subresource": subresource, "namespace": namespace}
        | more.pop("target", {}),
        "responseStatus": {"code": code, "message": more.pop("message", "")},
        **more,
    }
    return [*read_log([json.dumps(line)])]


FORBID = {"authorization.k8s.io/decision": "forbid"}
RULE = PermissionRule(
    "", "secrets", ("get", "create"), "why", scope="garden", modes=("gardener",)
)._replace(features=("seeds",))


@pytest.mark.parametrize(
    ("seen", "is_counted"),
    [
        pytest.param(event("get", "secrets", "g"), True, id="a request in the scope"),
        pytest.param(event("get", "secrets", "g", code=404), True, id="one that finds nothing"),
        pytest.param(event("get", "secrets", "other"), False, id="one in another namespace"),
        pytest.param(event("list", "secrets", "g"), False, id="another verb"),
        pytest.param(event("get", "secrets/status", "g"), False, id="a subresource"),
        pytest.param(event("get", "configmaps", "g"), False, id="another resource"),
        pytest.param(
            event("get", "secrets", "g", target={"apiGroup": "x"}), False, id="another group"
        ),
        pytest.param(
            event("get", "secrets", "garden", layout=Layout()), False, id="in another mode"
        ),
        pytest.param(
            event(
                "get", "secrets", "g", layout=replace(BESIDE, features=frozenset(("admission",)))
            ),
            False,
            id="with other features",
        ),
        pytest.param(
            event("get", "secrets", "g", code=403, annotations=FORBID), False, id="a refused one"
        ),
    ],
)
def test_a_permission_is_used_by_a_request_that_it_allows(seen: UsedPermission, is_counted: bool):
    assert is_used(RULE, "get", "gardener", [seen]) is is_counted
    assert not is_used(RULE, "create", "gardener", [seen])


@pytest.mark.parametrize("mode", ["gardener", "own-managedseed"])
def test_a_request_counts_for_each_mode_of_its_server(mode: InstallMode):
    rule = RULE._replace(modes=("gardener", "own-managedseed"))
    assert is_used(rule, "get", mode, [event("get", "secrets", "g")])


@pytest.mark.parametrize(("code", "verbs"), [(201, ["patch", "create"]), (200, ["patch"])])
def test_a_patch_that_creates_an_object_uses_both_verbs(code: int, verbs: list[str]):
    assert [each.verb for each in events("patch", "secrets", "g", code=code)] == verbs


def test_only_the_named_object_counts_for_a_rule_with_names():
    rule = PermissionRule(
        *("", "validatingwebhookconfigurations", ("patch",), "why", ("ours",)),
        modes=("gardener",),
    )
    for name in ("ours", "theirs"):
        seen = event("patch", "validatingwebhookconfigurations", target={"name": name})
        assert is_used(rule, "patch", "gardener", [seen]) is (name == "ours")


NO_CREATE = 'secrets is forbidden: User "x" cannot create resource "secrets"'
NO_OWNER = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        pytest.param(
            event("delete", "secrets", "g", code=403, annotations=FORBID),
            ["delete secrets in garden"],
            id="a verb that no rule has",
        ),
        pytest.param(
            event("get", "secrets", "other", code=403, annotations=FORBID),
            ["get secrets"],
            id="a namespace that no rule has",
        ),
        pytest.param(
            event("get", "secrets", "g", code=403, annotations=FORBID),
            [],
            id="nothing, if the role was deleted",
        ),
        pytest.param(
            event("patch", "secrets", "own-ns", code=403, message=NO_CREATE),
            ["create secrets in own"],
            id="the creation behind a patch",
        ),
        pytest.param(
            event("create", "secrets", "g", code=403, message=f"{NO_OWNER} finalizers on"),
            ["update (an owner)/finalizers in garden"],
            id="a deletion that may not be blocked",
        ),
        pytest.param(
            event("create", "secrets", "g", code=403, message="admission refuses"),
            [],
            id="nothing, if admission refused it",
        ),
    ],
)
def test_what_was_tried_in_vain_is_named(seen: UsedPermission, named: list[str]):
    found = not_granted([RULE], [seen])
    assert [str(each).partition(" (gardener")[0].replace(". ", " ") for each in found] == named
