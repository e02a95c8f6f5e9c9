import pytest

from webhook.runtime.lease import LeaderElectionRecord


def test_a_record_round_trips_and_keeps_other_fields_of_the_lease() -> None:
    record = LeaderElectionRecord(
        "a", 15, "2026-03-01T08:00:00.000000Z", "2026-03-01T08:00:01.000000Z", 3
    )
    lease = {
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {"strategy": "OldestEmulation"},
    }
    written = record.on(lease)
    assert LeaderElectionRecord.decode(written) == record
    assert written["metadata"] == lease["metadata"]
    assert written["spec"]["strategy"] == "OldestEmulation"
    assert lease["spec"] == {"strategy": "OldestEmulation"}


@pytest.mark.parametrize(
    "lease",
    [
        pytest.param({}, id="no spec"),
        pytest.param({"spec": None}, id="null spec"),
        pytest.param({"spec": {"holderIdentity": None, "leaseTransitions": None}}, id="nulls"),
    ],
)
def test_an_empty_lease_has_no_holder(lease: dict[str, object]) -> None:
    assert LeaderElectionRecord.decode(lease) == LeaderElectionRecord()
