from dataclasses import replace

import pytest

from webhook.cli.install.generate import permissions, roles
from webhook.cli.install.generate.rules import READ, PermissionRule, rules
from webhook.cli.install.layout import Layout


def test_rules_are_merged_and_ordered():
    granted = (
        PermissionRule("b", "two", ("get",), "reading"),
        PermissionRule("b", "one", ("get",), "reading"),
        PermissionRule("b", "one/status", ("patch",), "writing"),
        PermissionRule("a", "three", ("get",), "reading"),
        PermissionRule("a", "three", ("patch", "get"), "writing"),
        PermissionRule("a", "three", ("delete",), "only ours", ("ours",)),
    )
    assert rules(granted) == [
        {"apiGroups": ["a"], "resources": ["three"], "verbs": ["get", "patch"]},
        {
            "apiGroups": ["a"],
            "resources": ["three"],
            "resourceNames": ["ours"],
            "verbs": ["delete"],
        },
        {"apiGroups": ["b"], "resources": ["one", "two"], "verbs": ["get"]},
        {"apiGroups": ["b"], "resources": ["one/status"], "verbs": ["patch"]},
    ]


EVERY = permissions.PERMISSIONS
MODES = {
    "standalone": Layout(),
    "beside a Gardener": Layout(beside_gardener=True),
    "beside one, with our ManagedSeeds": Layout(beside_gardener=True, own=("managedseed",)),
    "beside one, with our sets": Layout(beside_gardener=True, own=("managedseedset",)),
}


def verbs(layout: Layout, resource: str) -> set[str]:
    """Return the verbs on a resource with the scopes in which they are granted."""
    return {
        f"{verb} {rule.scope}"
        for rule in permissions.granted(layout)
        for verb in rule.verbs
        if rule.resource == resource
    }


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: f"{rule.resource} {rule.verbs}")
def test_every_permission_is_narrow_and_has_a_reason(rule: PermissionRule):
    assert rule.why
    assert rule.modes
    assert "*" not in (rule.group, rule.resource, *rule.verbs)


@pytest.mark.parametrize("mode", MODES)
def test_secrets_and_config_maps_are_not_read_cluster_wide(mode: str):
    granted = permissions.granted(MODES[mode])
    wide = {rule.resource for rule in granted if rule.scope == "cluster"}
    assert not {"secrets", "configmaps"} & wide


def test_other_webhook_configurations_cannot_be_changed():
    for rule in EVERY:
        if rule.resource.endswith("webhookconfigurations") and not rule.names:
            assert not {"update", "patch", "delete"} & set(rule.verbs)


@pytest.mark.parametrize(
    ("mode", "resource", "created"),
    [
        ("standalone", "shoots", True),
        ("standalone", "managedseeds", True),
        ("standalone", "seeds", True),
        ("beside a Gardener", "shoots", False),
        ("beside a Gardener", "managedseeds", False),
        ("beside a Gardener", "seeds", False),
        ("beside a Gardener", "serviceaccounts", False),
        ("beside one, with our ManagedSeeds", "shoots", False),
        ("beside one, with our ManagedSeeds", "managedseeds", False),
        ("beside one, with our ManagedSeeds", "seeds", True),
        ("beside one, with our ManagedSeeds", "serviceaccounts", True),
        ("beside one, with our sets", "shoots", True),
        ("beside one, with our sets", "managedseeds", True),
        ("beside one, with our sets", "seeds", False),
    ],
)
def test_what_gardener_makes_is_made_by_nobody_else(mode: str, resource: str, created: bool):
    found = {each.split()[0] for each in verbs(MODES[mode], resource)}
    assert ({"create", "delete"} & found) == ({"create", "delete"} if created else set())


def test_secrets_of_the_garden_are_out_of_reach_unless_managed_seeds_are_ours():
    found = verbs(MODES["beside a Gardener"], "secrets")
    assert {each.split()[1] for each in found} == {"own"}
    found = verbs(MODES["beside one, with our ManagedSeeds"], "secrets")
    assert {each.split()[1] for each in found} == {"own", "garden", "kube-system"}


@pytest.mark.parametrize("resource", ["managedseeds", "managedseedsets", "controllerrevisions"])
@pytest.mark.parametrize("mode", MODES)
def test_sets_and_their_replicas_are_written_in_the_garden_namespace_only(mode: str, resource: str):
    written = {each for each in verbs(MODES[mode], resource) if each.split()[0] not in READ}
    assert {each.split()[1] for each in written} <= {"garden"}


def test_roles_cannot_be_created_and_only_one_can_be_bound():
    for rule in EVERY:
        if rule.resource == "clusterroles":
            assert rule.verbs == ("bind",)
            assert rule.names == ("gardener.cloud:system:seed-bootstrapper",)
        assert rule.resource not in {"roles", "rolebindings"}


@pytest.mark.parametrize(
    ("mode", "scopes"),
    [
        ("standalone", {"espalier", "espalier-garden", "espalier-kube-system"}),
        ("beside a Gardener", {"espalier", "espalier-garden"}),
    ],
)
def test_all_roles_are_bound_to_our_account_only(mode: str, scopes: set[str]):
    made = list(roles.roles(replace(MODES[mode], namespace="ns")))
    bindings = [item for item in made if item["kind"].endswith("Binding")]
    subject = {"kind": "ServiceAccount", "name": "espalier", "namespace": "ns"}
    assert all(binding["subjects"] == [subject] for binding in bindings)
    assert {binding["roleRef"]["name"] for binding in bindings} == scopes


def test_users_who_edit_a_namespace_may_edit_our_kinds_there():
    made = {item["metadata"]["name"]: item for item in roles.roles(Layout())}
    resources = [rule["resources"] for rule in made["espalier-edit"]["rules"]]
    assert resources == [["scheduledscalings"], ["seedautoscalers"]]
    labels = made["espalier-view"]["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
