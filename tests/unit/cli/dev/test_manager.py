"""The small manager of the local provider: what it asks for, step by step."""

from typing import Any

from tests.builders import merged
from tests.machines import decode_all, make_deployment, make_machine, make_set
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.cli.dev.manager import plan_deployment, plan_set
from webhook.runtime.actions import Create, Delete, Patch, Plan
from webhook.state.snapshot import Snapshot

OWNER = make_deployment(replicas=2)


def deployment_plan(*sets: dict[str, Any], owner: dict[str, Any] = OWNER) -> Plan:
    snapshot = Snapshot.of(decode_all(owner, *sets))
    return plan_deployment(convert(MachineDeployment, owner), snapshot)


def set_plan(owned: dict[str, Any], *machines: dict[str, Any]) -> Plan:
    return plan_set(convert(MachineSet, owned), Snapshot.of(decode_all(owned, *machines)))


def newest(size: int, available: int = 0) -> dict[str, Any]:
    """The set that a plan for the present template would make, at a size."""
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


def test_a_new_template_is_a_new_empty_set() -> None:
    (made,) = deployment_plan().actions
    assert isinstance(made, Create)
    assert made.body["spec"]["replicas"] == 0
    assert made.body["metadata"]["ownerReferences"][0]["name"] == OWNER["metadata"]["name"]


def test_the_newest_set_grows_to_the_replicas() -> None:
    found = newest(0)
    assert sizes(deployment_plan(found)) == {found["metadata"]["name"]: 2}


def test_an_old_set_shrinks_as_far_as_new_machines_serve() -> None:
    old = make_set(OWNER, "old", spec={"replicas": 2}, status={"replicas": 2})
    assert sizes(deployment_plan(newest(2, 0), old)) == {}
    assert sizes(deployment_plan(newest(2, 1), old)) == {old["metadata"]["name"]: 1}


def test_an_empty_old_set_goes() -> None:
    old = make_set(OWNER, "old", spec={"replicas": 0}, status={"replicas": 0})
    gone = [each for each in deployment_plan(newest(2, 2), old).actions if isinstance(each, Delete)]
    assert [each.key.name for each in gone] == [old["metadata"]["name"]]


def test_a_set_makes_one_machine_after_the_other() -> None:
    owned = make_set(OWNER, spec={"replicas": 2})
    made = set_plan(owned).actions[0]
    assert isinstance(made, Create)
    assert made.body["metadata"]["name"] == f"{owned['metadata']['name']}-0"


def test_a_set_deletes_those_that_do_not_serve_first() -> None:
    owned = make_set(OWNER, spec={"replicas": 1})
    ready, waiting = make_machine(owned, "a"), make_machine(owned, "b", "Pending")
    gone = set_plan(owned, ready, waiting).actions[0]
    assert isinstance(gone, Delete)
    assert gone.key.name == waiting["metadata"]["name"]


def test_the_status_says_what_there_is() -> None:
    owned = make_set(OWNER, spec={"replicas": 1})
    (report,) = set_plan(owned, make_machine(owned)).actions
    assert isinstance(report, Patch)
    status = report.change["status"]  # type: ignore[call-overload]
    assert (status["replicas"], status["availableReplicas"]) == (1, 1)
