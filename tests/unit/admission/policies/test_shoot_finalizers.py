"""shoot.finalizers: Gardener's finalizer stays until the deletion of the shoot has succeeded."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_shoot, merged
from webhook.domain.options import AdmissionOptions, Options

ON = Options(admission=AdmissionOptions(modes={"shoot.finalizers": "deny"}))
GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


def shoot(finalizers: list[str], status: dict[str, Any] | None = None) -> dict[str, Any]:
    return merged(make_shoot(), {"metadata": {"finalizers": finalizers}, "status": status or {}})


def operated(kind: str, state: str, progress: int = 100, **more: Any) -> dict[str, Any]:
    done = {"type": kind, "state": state, "progress": progress}
    return {"technicalID": "shoot--a", "lastOperation": done, **more}


@pytest.mark.parametrize("is_going", [False, True], ids=["living", "being deleted"])
@pytest.mark.parametrize(
    ("status", "refused"),
    [
        pytest.param({}, False, id="nothing was made for it"),
        pytest.param(
            operated("Reconcile", "Succeeded", technicalID=""), False, id="it never had a namespace"
        ),
        pytest.param({"technicalID": "shoot--a"}, False, id="no operation"),
        pytest.param(operated("Reconcile", "Succeeded"), True, id="it is in use"),
        pytest.param(operated("Delete", "Processing", 99), True, id="its deletion is under way"),
        pytest.param(operated("Delete", "Failed"), True, id="its deletion failed"),
        pytest.param(operated("Delete", "Succeeded", 99), True, id="its deletion is nearly done"),
        pytest.param(operated("Delete", "Succeeded"), False, id="its deletion is done"),
    ],
)
def test_when_the_finalizer_can_be_removed(
    status: dict[str, Any], refused: bool, is_going: bool
) -> None:
    more = GOING if is_going else {}
    old = merged(shoot(["gardener", "mine"], status), more)
    new = merged(shoot(["mine"], status), more)
    result = validate("shoot.finalizers", new, old, options=ON)
    assert result.refused == ({("metadata.finalizers", "Denied")} if refused else set())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(["gardener", "mine"], ["gardener"], id="another finalizer is removed"),
        pytest.param(["mine"], [], id="it was never held"),
        pytest.param(["gardener"], ["mine", "gardener"], id="another comes"),
    ],
)
def test_other_finalizers_can_change(before: list[str], after: list[str]) -> None:
    status = operated("Reconcile", "Succeeded")
    result = validate("shoot.finalizers", shoot(after, status), shoot(before, status), options=ON)
    assert result.refused == set()


def test_it_is_off_by_default() -> None:
    status = operated("Reconcile", "Succeeded")
    assert validate("shoot.finalizers", shoot([], status), shoot(["gardener"], status)).refused == (
        set()
    )
