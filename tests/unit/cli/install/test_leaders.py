from typing import Any

import pytest

from webhook.cli.install.leaders import Onlooker


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
def test_a_lease_says_who_leads(found, leader):
    assert Onlooker().leader(found, 100.0) == leader


def test_who_stops_renewing_is_gone_when_the_lease_has_run_out():
    onlooker = Onlooker()
    assert onlooker.leader(lease("one"), 100.0) == "one"
    assert onlooker.leader(lease("one"), 114.9) == "one"
    assert onlooker.leader(lease("one"), 115.0) == ""


def test_a_renewal_starts_the_wait_anew():
    onlooker = Onlooker()
    onlooker.leader(lease("one"), 100.0)
    assert onlooker.leader(lease("one", renewed="10:01"), 114.0) == "one"
    assert onlooker.leader(lease("one", renewed="10:01"), 128.9) == "one"
    assert onlooker.leader(lease("one", renewed="10:01"), 129.0) == ""


def test_a_successor_leads_for_its_own_time():
    onlooker = Onlooker()
    onlooker.leader(lease("one"), 100.0)
    assert onlooker.leader(lease("two"), 116.0) == "two"
