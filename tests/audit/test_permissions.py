"""Permissions granted compared with permissions used in the whole run that has just ended.

`make test` runs this last. It finds out what servers in each mode did with their generated
permissions from the audit logs of the real API servers.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.account import IN_SEED
from tests.support.control_planes import require_parts
from tests.support.permission_audit import FOLDER, UsedPermission, is_used, not_granted, read_folder
from webhook.cli.install.generate.permissions import PERMISSIONS, granted
from webhook.cli.install.generate.rules import READ, PermissionRule
from webhook.cli.install.layout import InstallMode

SAME_CODE: dict[InstallMode, InstallMode] = {
    "own-managedseed": "standalone",
    "own-managedseedset": "standalone",
}
"""Modes whose rules are used by the same code in another mode, where the whole suite runs."""

WITHOUT_GARDENER = {
    ("patch", "machinedeployments"): "node groups",
    ("patch", "machinesets"): "node groups",
    ("patch", "configmaps"): "records of node groups",
    ("patch", "scheduledscalings"): "scheduled scaling",
    ("patch", "scheduledscalings/status"): "scheduled scaling",
    ("patch", "tortoises"): "scheduled scaling",
    ("patch", "tortoises/status"): "scheduled scaling",
    ("patch", "horizontalpodautoscalers"): "scheduled scaling",
    ("delete", "controllerrevisions"): "the pruning of old revisions",
    ("patch", "seeds"): "the cordon of a SeedAutoscaler",
    ("patch", "seedautoscalers"): "the finalizer of one that cordons seeds",
}
"""Permissions beside a Gardener of code that is the same without one, and is tested there."""

IMPLIED = {
    ("bind", "clusterroles"): ("create", "clusterrolebindings"),
    ("update", "managedseedsets/finalizers"): ("create", "controllerrevisions"),
    ("update", "shoots/binding"): ("patch", "shoots"),
}
"""Permissions that no request names: each is checked while the other one is used.

The API server checks who binds a role, and, with the plugin OwnerReferencesPermissionEnforcement,
who blocks the deletion of an owner; our own policy checks who chooses the seed of a shoot.
"""

TOLERATED = {
    ("get", "secrets", ()): "kubeconfigs of shoots are read only where somebody adds a Role",
    (
        "get",
        "namespaces",
        ("own",),
    ): "a server that may not read its namespace expects that it exists",
    ("get", "pods", ()): "what an extender binds is a shadow Pod only in our own namespace",
    ("get", "pods", ("garden",)): "what an extender binds is a shadow Pod only in our namespace",
}
"""Requests that may be refused, by verb, resource and the scopes of their namespace."""


def _grants() -> Iterator[tuple[InstallMode, PermissionRule, str]]:
    for rule in PERMISSIONS:
        for mode in rule.modes:
            for verb in rule.verbs:
                yield mode, rule, verb


def _title(value: object) -> str:
    if isinstance(value, PermissionRule):
        resource = f"{value.resource}.{value.group}".rstrip(".")
        return resource if value.scope == "cluster" else f"{resource} in {value.scope}"
    return str(value)


def _writes_in_seed() -> Iterator[tuple[PermissionRule, str]]:
    """Yield what a seed has and not every installation has; what is read follows from KINDS."""
    for rule in granted(IN_SEED):
        if rule.features:
            yield from ((rule, verb) for verb in rule.verbs if verb not in READ)


@pytest.fixture(scope="session")
def used() -> set[UsedPermission]:
    """What all API servers of the run have logged."""
    require_parts("etcd", "kubernetes", "gardener")
    if not FOLDER:
        pytest.skip("the audit is about a whole run: run `make test`")
    return read_folder(Path(FOLDER))


@pytest.mark.parametrize(("mode", "rule", "verb"), [*_grants()], ids=_title)
def test_every_permission_is_used(
    used: set[UsedPermission], mode: InstallMode, rule: PermissionRule, verb: str
):
    implied = IMPLIED.get((verb, rule.resource))
    if rule.resource == "shoots/binding" and mode != "standalone":
        implied = None  # only our own policy checks it, which is left to Gardener elsewhere
    mode = SAME_CODE.get(mode, mode)
    if mode == "gardener" and (verb, rule.resource) in WITHOUT_GARDENER:
        mode = "standalone"
    if implied is None:
        assert is_used(rule, verb, mode, used), f"{rule}: granted, and no test has used it"
        return
    by, resource = implied
    others = [each for each in PERMISSIONS if each.resource == resource and by in each.verbs]
    assert any(is_used(each, by, mode, used) for each in others), f"{rule}: granted and not used"


@pytest.mark.parametrize(("rule", "verb"), [*_writes_in_seed()], ids=_title)
def test_every_write_in_a_seed_is_used_there(
    used: set[UsedPermission], rule: PermissionRule, verb: str
):
    there = [each for each in used if {*each.features} == IN_SEED.features]
    assert is_used(rule, verb, "standalone", there), f"{rule}: granted, and no test has used it"


def test_nothing_else_is_tried(used: set[UsedPermission]):
    tried = [
        each
        for each in not_granted(PERMISSIONS, used)
        if (each.verb, each.resource, each.namespaces) not in TOLERATED
    ]
    assert not tried, f"used and not granted: {'; '.join(map(str, tried))}"
