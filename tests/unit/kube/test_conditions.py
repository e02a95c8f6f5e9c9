from datetime import UTC, datetime, timedelta
from typing import Any

from webhook.kube import conditions
from webhook.kube.conditions import Condition

NOW = datetime(2026, 1, 31, 22, 0, tzinfo=UTC)
STAMP = "2026-01-31T22:00:00Z"
LATER = "2026-01-31T22:01:00Z"


def put(draft: list[dict[str, Any]], status: str, message: str = "m", minutes: int = 0) -> bool:
    now = NOW + timedelta(minutes=minutes)
    return conditions.set(draft, "Ready", status, reason="R", message=message, now=now)


def ready(status: str, message: str, transition: str, update: str) -> dict[str, str]:
    return {
        "type": "Ready",
        "status": status,
        "reason": "R",
        "message": message,
        "lastTransitionTime": transition,
        "lastUpdateTime": update,
    }


def test_a_new_condition_is_appended():
    draft: list[dict[str, Any]] = [{"type": "Other", "status": "True"}]
    assert put(draft, "True")
    assert draft == [{"type": "Other", "status": "True"}, ready("True", "m", STAMP, STAMP)]


def test_an_unchanged_condition_is_not_written():
    draft: list[dict[str, Any]] = []
    put(draft, "True")
    assert not put(draft, "True", minutes=1)
    assert draft == [ready("True", "m", STAMP, STAMP)]


def test_the_transition_time_moves_with_the_status_only():
    draft: list[dict[str, Any]] = []
    put(draft, "True")
    assert put(draft, "True", message="other", minutes=1)
    assert draft == [ready("True", "other", STAMP, LATER)]
    assert put(draft, "False", message="other", minutes=1)
    assert draft == [ready("False", "other", LATER, LATER)]


def test_fields_of_others_survive():
    draft: list[dict[str, Any]] = [{"type": "Ready", "status": "True", "codes": ["ERR"]}]
    put(draft, "False")
    assert draft[0]["codes"] == ["ERR"]


def test_reading():
    known = [Condition(type="Ready", status="True"), Condition(type="Down", status="False")]
    assert conditions.get(known, "Ready") is known[0]
    assert conditions.get(known, "Lost") is None
    assert conditions.is_true(known, "Ready")
    assert not conditions.is_true(known, "Down")
    assert not conditions.is_true(known, "Lost")
    assert conditions.status_of(known, "Lost") == "Unknown"


def test_removing():
    draft: list[dict[str, Any]] = [{"type": "Ready"}, {"type": "Other"}]
    assert conditions.remove(draft, "Ready")
    assert draft == [{"type": "Other"}]
    assert not conditions.remove(draft, "Ready")
