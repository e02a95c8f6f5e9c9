import pytest

from webhook.runtime.lease import Record


def test_a_record_survives_the_wire_and_leaves_the_rest_of_the_lease() -> None:
    record = Record("a", 15, "2026-03-01T08:00:00.000000Z", "2026-03-01T08:00:01.000000Z", 3)
    lease = {
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {"strategy": "OldestEmulation"},
    }
    written = record.on(lease)
    assert Record.decode(written) == record
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
def test_an_empty_lease_is_nobodys(lease: dict[str, object]) -> None:
    assert Record.decode(lease) == Record()
