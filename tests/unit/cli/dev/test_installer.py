"""The local provider reports extensions as installed, and never over what others wrote."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from webhook.api.registrations import ControllerInstallation
from webhook.cli.dev.installer import REPORTS, plan_installation
from webhook.cli.dev.playing import MARK
from webhook.runtime.actions import NOTHING, Patch
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
FAILED = {"type": "Healthy", "status": "False", "reason": "Sick", "message": "not ours"}
PLAYED = [{"type": name, "status": status, "message": MARK} for name, status in REPORTS.items()]


def _plan(conditions: list[dict[str, Any]], **metadata: Any) -> Any:
    raw = {
        "metadata": {"name": "one", "uid": "u", "resourceVersion": "1", **metadata},
        "status": {"conditions": conditions},
    }
    installation = msgspec.convert(raw, ControllerInstallation)
    return plan_installation(installation, Snapshot.of([installation], taken_at=NOW))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], {**REPORTS}, id="a new one is reported whole"),
        pytest.param([FAILED], {**REPORTS, "Healthy": "False"}, id="what others say stays"),
        pytest.param(PLAYED[:2], {**REPORTS}, id="what is lacking is added"),
    ],
)
def test_an_extension_is_reported_as_installed(before, after):
    (action,) = _plan(before).actions
    assert isinstance(action, Patch)
    assert isinstance(action.change, dict)
    told = action.change["status"]["conditions"]
    assert {each["type"]: each["status"] for each in told} == after
    assert [each for each in told if each.get("message") != MARK] == (
        [FAILED] if FAILED in before else []
    )
    assert (action.subresource, action.version) == ("status", "1")


@pytest.mark.parametrize(
    ("conditions", "metadata"),
    [
        pytest.param(PLAYED, {}, id="one that was reported"),
        pytest.param([], {"deletionTimestamp": "2026-05-01T12:00:00Z"}, id="one that goes"),
    ],
)
def test_nothing_is_written_about(conditions, metadata):
    assert _plan(conditions, **metadata) == NOTHING
