"""The simulated machine-controller-manager rolls MachineDeployments step by step."""

from typing import Any

from tests.support.builders import merged
from tests.support.machine_objects import decode_all, make_deployment, make_machine, make_set
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.dev.localprovider.mcm import plan_deployment, plan_set
from webhook.runtime.actions import Create, Delete, Patch, Plan
from webhook.state.snapshot import Snapshot

OWNER = make_deployment(replicas=2)


def deployment_plan(*sets: dict[str, Any], owner: dict[str, Any] = OWNER) -> Plan:
    snapshot = Snapshot.of(decode_all(owner, *sets))
    return plan_deployment(convert(MachineDeployment, owner), snapshot)


def set_plan(owned: dict[str, Any], *machines: dict[str, Any]) -> Plan:
    return plan_set(convert(MachineSet, owned), Snapshot.of(decode_all(owned, *machines)))


def newest(size: int, available: int = 0) -> dict[str, Any]:
    """Return the set of the current template with a size."""
    (made,) = deployment_plan().actions
    assert isinstance(made, Create)
    status = {"replicas": size, "availableReplicas": available}
    owned = merged(make_set(OWNER, "x"), {"spec": {"replicas": size}, "status": status})
    name = made.body["metadata"]["name"]
    return merged(owned, {"metadata": {"name": name, "uid": f"uid-{name}"}})


def sizes(plan: Plan) -> dict[str, int]:
    return {
        each.key.name: each.change["spec"]["replicas"]  # type: ignore[call-overload]
        for each in plan.actions
        if isinstance(each, Patch) and not each.subresource
    }


def test_a_new_template_gets_a_new_empty_set() -> None:
    (made,) = deployment_plan().actions
    assert isinstance(made, Create)
    assert made.body["spec"]["replicas"] == 0
    assert made.body["metadata"]["ownerReferences"][0]["name"] == OWNER["metadata"]["name"]


def test_the_newest_set_grows_to_the_replicas() -> None:
    found = newest(0)
    assert sizes(deployment_plan(found)) == {found["metadata"]["name"]: 2}


def test_an_old_set_shrinks_as_new_machines_become_available() -> None:
    old = make_set(OWNER, "old", spec={"replicas": 2}, status={"replicas": 2})
    assert sizes(deployment_plan(newest(2, 0), old)) == {}
    assert sizes(deployment_plan(newest(2, 1), old)) == {old["metadata"]["name"]: 1}


def test_an_empty_old_set_is_deleted() -> None:
    old = make_set(OWNER, "old", spec={"replicas": 0}, status={"replicas": 0})
    deleted = [
        each for each in deployment_plan(newest(2, 2), old).actions if isinstance(each, Delete)
    ]
    assert [each.key.name for each in deleted] == [old["metadata"]["name"]]


def test_a_set_creates_one_machine_at_a_time() -> None:
    owned = make_set(OWNER, spec={"replicas": 2})
    made = set_plan(owned).actions[0]
    assert isinstance(made, Create)
    assert made.body["metadata"]["name"] == f"{owned['metadata']['name']}-0"


def test_a_set_deletes_unavailable_machines_first() -> None:
    owned = make_set(OWNER, spec={"replicas": 1})
    ready, waiting = make_machine(owned, "a"), make_machine(owned, "b", "Pending")
    deleted = set_plan(owned, ready, waiting).actions[0]
    assert isinstance(deleted, Delete)
    assert deleted.key.name == waiting["metadata"]["name"]


def test_the_status_counts_the_machines() -> None:
    owned = make_set(OWNER, spec={"replicas": 1})
    (report,) = set_plan(owned, make_machine(owned)).actions
    assert isinstance(report, Patch)
    status = report.change["status"]  # type: ignore[call-overload]
    assert (status["replicas"], status["availableReplicas"]) == (1, 1)
