import pytest

from webhook.cli.install import rights, roles
from webhook.cli.install.layout import Layout
from webhook.cli.install.rights import Right


def test_rules_are_merged_and_ordered():
    granted = (
        Right("b", "two", ("get",), "reading"),
        Right("b", "one", ("get",), "reading"),
        Right("b", "one/status", ("patch",), "writing"),
        Right("a", "three", ("get",), "reading"),
        Right("a", "three", ("patch", "get"), "writing"),
        Right("a", "three", ("delete",), "only ours", ("ours",)),
    )
    assert rights.rules(granted) == [
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


GRANTED = (
    *rights.CLUSTER,
    *rights.OWN_NAMESPACE,
    *rights.GARDEN_NAMESPACE,
    *rights.MANAGED_SEEDS_CLUSTER,
    *rights.MANAGED_SEEDS_GARDEN,
    *rights.MANAGED_SEEDS_SYSTEM,
)


@pytest.mark.parametrize("right", GRANTED, ids=lambda right: f"{right.resource} {right.verbs}")
def test_every_right_is_narrow_and_has_a_reason(right: Right):
    assert right.why
    assert "*" not in (right.group, right.resource, *right.verbs)


def test_secrets_and_config_maps_are_never_read_in_the_whole_cluster():
    assert not {"secrets", "configmaps"} & {right.resource for right in rights.CLUSTER}


def test_foreign_webhooks_are_out_of_reach():
    for right in rights.CLUSTER:
        if right.resource.endswith("webhookconfigurations") and not right.names:
            assert not {"update", "patch", "delete"} & set(right.verbs)


def test_roles_are_never_made_and_only_one_is_ever_bound():
    for right in GRANTED:
        if right.resource == "clusterroles":
            assert right.verbs == ("bind",)
            assert right.names == ("gardener.cloud:system:seed-bootstrapper",)
        assert right.resource not in {"roles", "rolebindings"}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a Gardener"])
def test_all_roles_are_bound_to_our_account_only(beside: bool):
    made = list(roles.roles(Layout(namespace="ns", beside_gardener=beside)))
    bindings = [item for item in made if item["kind"].endswith("Binding")]
    subject = {"kind": "ServiceAccount", "name": "espalier", "namespace": "ns"}
    assert all(binding["subjects"] == [subject] for binding in bindings)
    names = {binding["roleRef"]["name"] for binding in bindings}
    seeds = set() if beside else {"espalier-managedseeds"}
    assert names == {"espalier", "espalier-garden"} | seeds


def test_people_who_edit_a_namespace_may_edit_our_kinds_there():
    made = {item["metadata"]["name"]: item for item in roles.roles(Layout())}
    resources = [rule["resources"] for rule in made["espalier-edit"]["rules"]]
    assert resources == [["scheduledscalings"], ["seedautoscalers"]]
    labels = made["espalier-view"]["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
