from typing import Any

import pytest

from webhook.cli.install.uninstall.leases import LeaseObserver


def lease(holder: str | None, renewed: str = "10:00", duration: int | None = 15) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": duration}
    return {"spec": spec}


@pytest.mark.parametrize(
    ("found", "leader"),
    [
        pytest.param(lease("one"), "one", id="a held lease has a leader"),
        pytest.param(lease(""), "", id="a released lease has none"),
        pytest.param(lease(None), "", id="a lease that was never held has none"),
        pytest.param(lease("one", duration=None), "", id="a lease without end was never held"),
        pytest.param({}, "", id="an empty object is no claim"),
    ],
)
def test_a_lease_has_a_leader_or_none(found, leader):
    assert LeaseObserver().leader(found, 100.0) == leader


def test_a_lease_that_is_not_renewed_expires():
    observer = LeaseObserver()
    assert observer.leader(lease("one"), 100.0) == "one"
    assert observer.leader(lease("one"), 114.9) == "one"
    assert observer.leader(lease("one"), 115.0) == ""


def test_a_renewal_extends_the_lease():
    observer = LeaseObserver()
    observer.leader(lease("one"), 100.0)
    assert observer.leader(lease("one", renewed="10:01"), 114.0) == "one"
    assert observer.leader(lease("one", renewed="10:01"), 128.9) == "one"
    assert observer.leader(lease("one", renewed="10:01"), 129.0) == ""


def test_a_new_holder_has_the_whole_duration():
    observer = LeaseObserver()
    observer.leader(lease("one"), 100.0)
    assert observer.leader(lease("two"), 116.0) == "two"
