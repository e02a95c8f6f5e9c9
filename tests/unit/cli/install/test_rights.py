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


GRANTED = (*rights.CLUSTER, *rights.OWN_NAMESPACE, *rights.GARDEN_NAMESPACE)


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


def test_nobody_gets_rights_to_roles():
    assert not [right for right in GRANTED if right.group == "rbac.authorization.k8s.io"]


def test_all_roles_are_bound_to_our_account_only():
    made = list(roles.roles(Layout(namespace="ns")))
    bindings = [item for item in made if item["kind"].endswith("Binding")]
    subject = {"kind": "ServiceAccount", "name": "espalier", "namespace": "ns"}
    assert [binding["subjects"] for binding in bindings] == [[subject]] * 3
    assert [binding["roleRef"]["name"] for binding in bindings] == [
        "espalier",
        "espalier",
        "espalier-garden",
    ]


def test_people_who_edit_a_namespace_may_edit_our_kinds_there():
    made = {item["metadata"]["name"]: item for item in roles.roles(Layout())}
    resources = [rule["resources"] for rule in made["espalier-edit"]["rules"]]
    assert resources == [["scheduledscalings"], ["seedautoscalers"]]
    labels = made["espalier-view"]["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
