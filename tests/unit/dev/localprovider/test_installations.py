"""The local provider reports extensions as installed and keeps existing conditions."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from webhook.api.registrations import ControllerInstallation
from webhook.dev.localprovider.installations import INSTALLED_CONDITIONS, plan_installation
from webhook.dev.localprovider.simulation import MARK
from webhook.runtime.actions import NOTHING, Patch
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
FAILED = {"type": "Healthy", "status": "False", "reason": "Sick", "message": "not ours"}
SIMULATED = [
    {"type": name, "status": status, "message": MARK}
    for name, status in INSTALLED_CONDITIONS.items()
]


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
        pytest.param([], {**INSTALLED_CONDITIONS}, id="all conditions of a new one"),
        pytest.param(
            [FAILED], {**INSTALLED_CONDITIONS, "Healthy": "False"}, id="existing conditions stay"
        ),
        pytest.param(SIMULATED[:2], {**INSTALLED_CONDITIONS}, id="missing conditions are added"),
    ],
)
def test_an_extension_is_reported_as_installed(before, after):
    (action,) = _plan(before).actions
    assert isinstance(action, Patch)
    assert isinstance(action.change, dict)
    conditions = action.change["status"]["conditions"]
    assert {each["type"]: each["status"] for each in conditions} == after
    assert [each for each in conditions if each.get("message") != MARK] == (
        [FAILED] if FAILED in before else []
    )
    assert (action.subresource, action.version) == ("status", "1")


@pytest.mark.parametrize(
    ("conditions", "metadata"),
    [
        pytest.param(SIMULATED, {}, id="a reported one"),
        pytest.param([], {"deletionTimestamp": "2026-05-01T12:00:00Z"}, id="a deleted one"),
    ],
)
def test_nothing_is_written_for(conditions, metadata):
    assert _plan(conditions, **metadata) == NOTHING
