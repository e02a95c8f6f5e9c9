"""The floors of ScheduledScalings: windows, overlaps, bounds and inactive Tortoises."""

from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import msgspec
import pytest

from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain.options import ScalingOptions
from webhook.domain.scaling.floors import NO_FLOORS, Floors
from webhook.domain.scaling.schedules import (
    autoscaler_of,
    effective_floors,
    floors_of,
    inactive_reason,
    open_floors,
    schedule_of,
    window_of,
)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _scaling(
    schedule: dict[str, Any], replicas: int | None = None, memory: str = "", **spec: Any
) -> ScheduledScaling:
    static: dict[str, Any] = {}
    if replicas is not None:
        static["minimumMinReplicas"] = replicas
    if memory:
        static["minAllocatedResources"] = [
            {"containerName": "app", "resources": {"memory": memory}}
        ]
    body = {
        "metadata": {
            "name": "s",
            "namespace": "shop",
            "creationTimestamp": "2024-01-01T00:00:00Z",
        },
        "spec": {
            "targetRefs": {"tortoiseName": "cute"},
            "strategy": {"static": static},
            "schedule": schedule,
            **spec,
        },
    }
    return msgspec.convert(body, ScheduledScaling)


NEW_YEAR = _scaling(
    {"startAt": "2023-12-31T23:30:00Z", "finishAt": "2024-01-05T00:00:00Z"}, 100, "5G"
)
LAUNCH = _scaling(
    {"startAt": "2024-03-31T23:30:00Z", "finishAt": "2024-04-02T00:00:00Z"}, 50, "5Gi"
)


@pytest.mark.parametrize(
    ("scaling", "now", "floors"),
    [
        pytest.param(NEW_YEAR, "2023-12-31T23:29:59", NO_FLOORS, id="story 1, a second before"),
        pytest.param(
            NEW_YEAR,
            "2023-12-31T23:30:00",
            Floors(100, {"app": {"memory": "5G"}}),
            id="story 1, at the start",
        ),
        pytest.param(NEW_YEAR, "2024-01-05T00:00:00", NO_FLOORS, id="story 1, at the finish"),
        pytest.param(
            LAUNCH,
            "2024-04-01T12:00:00",
            Floors(50, {"app": {"memory": "5Gi"}}),
            id="story 2, in the window",
        ),
    ],
)
def test_floors_at_a_time(scaling: ScheduledScaling, now: str, floors: Floors) -> None:
    assert open_floors([scaling], _at(now)) == floors


def test_a_window_without_a_start_opens_at_creation() -> None:
    scaling = _scaling({"finishAt": "2024-01-02T00:00:00Z"}, 5)
    assert window_of(scaling, _at("2023-12-31T23:59:59")) is None
    assert window_of(scaling, _at("2024-01-01T00:00:00")) is not None


@pytest.mark.parametrize(
    "schedule",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"finishAt": "tomorrow"}, id="no time"),
        pytest.param(
            {"startAt": "2024-02-01T00:00:00Z", "finishAt": "2024-01-01T00:00:00Z"}, id="backwards"
        ),
        pytest.param({"cron": "0 25 * * *", "duration": "1h"}, id="no such hour"),
        pytest.param({"cron": "0 2 * * *"}, id="no duration"),
        pytest.param({"cron": "0 2 * * *", "duration": "1h", "timeZone": "Mars"}, id="no zone"),
    ],
)
def test_an_invalid_schedule_has_no_window(schedule: dict[str, Any]) -> None:
    assert schedule_of(_scaling(schedule, 5)) is None
    assert window_of(_scaling(schedule, 5), _at("2024-01-01T02:00:00")) is None


@pytest.mark.parametrize("key", ["cron", "cronExpression"])
def test_recurring_windows_use_either_of_two_fields(key: str) -> None:
    schedule = {key: "0 9 * * *", "duration": "2h", "timeZone": "Asia/Tokyo"}
    scaling = _scaling(schedule, 5)
    assert window_of(scaling, _at("2024-01-02T00:30:00")) is not None
    assert window_of(scaling, _at("2024-01-02T02:00:00")) is None


@pytest.mark.parametrize("change", [{"suspend": True}])
def test_a_suspended_schedule_has_no_floors(change: dict[str, Any]) -> None:
    schedule = {"finishAt": "2024-01-05T00:00:00Z"}
    assert open_floors([_scaling(schedule, 5, **change)], _at("2024-01-02T00:00:00")) == NO_FLOORS


OVERLAPPING = [
    _scaling({"startAt": "2024-01-01T00:00:00Z", "finishAt": "2024-01-01T03:00:00Z"}, 10),
    _scaling({"startAt": "2024-01-01T01:00:00Z", "finishAt": "2024-01-01T04:00:00Z"}, 30, "1Gi"),
    _scaling({"startAt": "2024-01-01T02:00:00Z", "finishAt": "2024-01-01T05:00:00Z"}, 20, "2Gi"),
]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2024-01-01T00:30:00", Floors(10)),
        ("2024-01-01T01:30:00", Floors(30, {"app": {"memory": "1Gi"}})),
        ("2024-01-01T02:30:00", Floors(30, {"app": {"memory": "2Gi"}})),
        ("2024-01-01T03:30:00", Floors(30, {"app": {"memory": "2Gi"}})),
        ("2024-01-01T04:30:00", Floors(20, {"app": {"memory": "2Gi"}})),
        ("2024-01-01T05:00:00", NO_FLOORS),
    ],
)
def test_overlapping_windows_do_not_affect_each_other(
    order: tuple[int, ...], now: str, expected: Floors
) -> None:
    assert open_floors([OVERLAPPING[index] for index in order], _at(now)) == expected


def _tortoise(**spec: Any) -> Tortoise:
    status = spec.pop("status", {})
    metadata = {"name": "cute", "namespace": "shop", **spec.pop("metadata", {})}
    body = {"metadata": metadata, "spec": {"updateMode": "Auto", **spec}, "status": status}
    return msgspec.convert(body, Tortoise)


@pytest.mark.parametrize(
    ("tortoise", "expected"),
    [
        pytest.param(_tortoise(), Floors(50), id="one that acts"),
        pytest.param(_tortoise(updateMode="Emergency"), Floors(50), id="one in an emergency"),
        pytest.param(_tortoise(updateMode="Off"), NO_FLOORS, id="one that is off"),
        pytest.param(
            _tortoise(metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"}),
            NO_FLOORS,
            id="one that goes",
        ),
        pytest.param(
            _tortoise(
                status={
                    "conditions": {
                        "tortoiseConditions": [
                            {"type": "EffectiveModeOverridden", "status": "True"}
                        ]
                    }
                }
            ),
            NO_FLOORS,
            id="one whose mode is overridden",
        ),
        pytest.param(None, NO_FLOORS, id="none at all"),
    ],
)
def test_floors_take_effect_only_while_the_tortoise_is_active(
    tortoise: Tortoise | None, expected: Floors
) -> None:
    assert effective_floors(tortoise, Floors(50), ScalingOptions()) == expected
    if tortoise is not None:
        assert bool(inactive_reason(tortoise)) == (expected == NO_FLOORS)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(Floors(3), NO_FLOORS, id="the global minimum is there anyway"),
        pytest.param(Floors(4), Floors(4), id="one above it"),
        pytest.param(Floors(100), Floors(100), id="the global maximum"),
        pytest.param(Floors(101), Floors(100), id="never more than the global maximum"),
        pytest.param(
            Floors(None, {"app": {"memory": "20Gi"}}),
            Floors(None, {"app": {"memory": "10Gi"}}),
            id="nor more memory",
        ),
    ],
)
def test_global_bounds_take_precedence(wanted: Floors, expected: Floors) -> None:
    assert effective_floors(_tortoise(), wanted, ScalingOptions()) == expected


@pytest.mark.parametrize(
    ("tortoise", "name"),
    [
        pytest.param(_tortoise(), "tortoise-hpa-cute", id="by default"),
        pytest.param(
            _tortoise(status={"targets": {"horizontalPodAutoscaler": "seen"}}), "seen", id="as seen"
        ),
        pytest.param(
            _tortoise(
                targetRefs={"horizontalPodAutoscalerName": "mine"},
                status={"targets": {"horizontalPodAutoscaler": "seen"}},
            ),
            "mine",
            id="as wished",
        ),
    ],
)
def test_the_name_of_a_tortoises_autoscaler(tortoise: Tortoise, name: str) -> None:
    assert autoscaler_of(tortoise) == name


def test_a_malformed_quantity_is_ignored() -> None:
    assert floors_of(_scaling({}, 5, "5GB")) == Floors(5)
