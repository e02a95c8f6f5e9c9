"""scheduledscaling.rules: the schedule and the floors of a ScheduledScaling are valid."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_object, merged

STATIC = "spec.strategy.static"
SCHEDULE = "spec.schedule"
TORTOISE = make_object("autoscaling.mercari.com/v1beta3", "Tortoise", "cute-tortoise", "shop")


def scaling(**spec: Any) -> dict[str, Any]:
    """The document's first story, with a quantity that exists, a month from now."""
    default = {
        "targetRefs": {"tortoiseName": "cute-tortoise"},
        "strategy": {
            "static": {
                "minimumMinReplicas": 100,
                "minAllocatedResources": [{"containerName": "app", "resources": {"memory": "5G"}}],
            }
        },
        "schedule": {"startAt": "2026-02-01T23:30:00Z", "finishAt": "2026-02-05T00:00:00Z"},
    }
    return make_object(
        "autoscaling.mercari.com/v1alpha1",
        "ScheduledScaling",
        "campaign",
        "shop",
        spec=merged(default, spec),
    )


def at(**schedule: Any) -> dict[str, Any]:
    return scaling(schedule=schedule)


def cron(**schedule: Any) -> dict[str, Any]:
    recurring = {"cron": "0 9 * * 1-5", "duration": "8h", "startAt": None, "finishAt": None}
    return scaling(schedule=recurring | schedule)


def floors(*entries: tuple[str, dict[str, Any]], **static: Any) -> dict[str, Any]:
    resources = [{"containerName": name, "resources": amounts} for name, amounts in entries]
    return scaling(strategy={"static": {"minAllocatedResources": resources, **static}})


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(scaling(), set(), id="the document's story"),
        pytest.param(at(startAt=None), set(), id="from creation on"),
        pytest.param(at(finishAt=None), {(f"{SCHEDULE}.finishAt", "Required")}, id="no end"),
        pytest.param(at(finishAt=""), {(f"{SCHEDULE}.finishAt", "Required")}, id="an empty end"),
        pytest.param(at(finishAt="2026-02-01T23:30:01Z"), set(), id="a second long"),
        pytest.param(
            at(finishAt="2026-02-01T23:30:00Z"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="end and start at once",
        ),
        pytest.param(
            at(finishAt="2026-02-02T01:00:00+02:00"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="an end before the start, in another zone",
        ),
        pytest.param(
            at(startAt="tomorrow"), {(f"{SCHEDULE}.startAt", "Invalid")}, id="a start in words"
        ),
        pytest.param(
            at(finishAt="2026-02-05"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="an end without a time",
        ),
        pytest.param(
            at(startAt=None, finishAt="2026-01-15T12:00:01Z"), set(), id="over in a second"
        ),
        pytest.param(
            at(startAt=None, finishAt="2026-01-15T12:00:00Z"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="over just now",
        ),
        pytest.param(
            at(startAt="2023-12-31T23:30:00Z", finishAt="2024-01-05T00:00:00Z"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="over long ago",
        ),
        pytest.param(
            at(duration="1h"), {(f"{SCHEDULE}.duration", "Forbidden")}, id="how long, without cron"
        ),
        pytest.param(
            at(timeZone="Asia/Tokyo"),
            {(f"{SCHEDULE}.timeZone", "Forbidden")},
            id="a zone, without cron",
        ),
        pytest.param(cron(), set(), id="every working day"),
        pytest.param(
            cron(cron=None, cronExpression="0 9 * * *"), set(), id="by the field's other name"
        ),
        pytest.param(
            cron(cronExpression="1 9 * * *"),
            {(f"{SCHEDULE}.cronExpression", "Invalid")},
            id="by two names that disagree",
        ),
        pytest.param(cron(cron="whenever"), {(f"{SCHEDULE}.cron", "Invalid")}, id="no cron"),
        pytest.param(cron(cron="0 25 * * *"), {(f"{SCHEDULE}.cron", "Invalid")}, id="at hour 25"),
        pytest.param(
            cron(cron="0 0 9 * * *"), {(f"{SCHEDULE}.cron", "Invalid")}, id="with seconds"
        ),
        pytest.param(cron(duration=None), {(f"{SCHEDULE}.duration", "Required")}, id="no duration"),
        pytest.param(cron(duration="1m"), set(), id="a minute"),
        pytest.param(cron(duration="59s"), {(f"{SCHEDULE}.duration", "Invalid")}, id="59 seconds"),
        pytest.param(cron(duration="24h"), set(), id="a day"),
        pytest.param(
            cron(duration="24h1s"), {(f"{SCHEDULE}.duration", "Invalid")}, id="a day and a second"
        ),
        pytest.param(
            cron(duration="90 minutes"), {(f"{SCHEDULE}.duration", "Invalid")}, id="in words"
        ),
        pytest.param(cron(timeZone="Europe/Berlin"), set(), id="in a zone"),
        pytest.param(
            cron(timeZone="Mars/Olympus"), {(f"{SCHEDULE}.timeZone", "Invalid")}, id="on Mars"
        ),
        pytest.param(
            cron(timeZone="../etc/passwd"), {(f"{SCHEDULE}.timeZone", "Invalid")}, id="in a file"
        ),
        pytest.param(
            cron(startAt="2026-02-01T00:00:00Z", finishAt="2026-03-01T00:00:00Z"),
            set(),
            id="recurring within bounds",
        ),
        pytest.param(floors(("app", {"cpu": "2"}), minimumMinReplicas=None), set(), id="only cpu"),
        pytest.param(floors(minimumMinReplicas=1), set(), id="only replicas"),
        pytest.param(
            floors(minimumMinReplicas=0),
            {(f"{STATIC}.minimumMinReplicas", "Invalid")},
            id="no replicas",
        ),
        pytest.param(floors(minimumMinReplicas=None), {(STATIC, "Required")}, id="no floor"),
        pytest.param(scaling(strategy={"static": None}), {(STATIC, "Required")}, id="no strategy"),
        pytest.param(
            floors(("app", {"memory": "5GB"})),
            {(f"{STATIC}.minAllocatedResources[0].resources.memory", "Invalid")},
            id="5GB, as the document writes it",
        ),
        pytest.param(
            floors(("app", {"memory": "0"})),
            {(f"{STATIC}.minAllocatedResources[0].resources.memory", "Invalid")},
            id="a floor of nothing",
        ),
        pytest.param(
            floors(("app", {})),
            {(f"{STATIC}.minAllocatedResources[0].resources", "Required")},
            id="a container without resources",
        ),
        pytest.param(
            floors(("app", {"cpu": "1"}), ("app", {"memory": "1Gi"})),
            {(f"{STATIC}.minAllocatedResources[1].containerName", "Duplicate")},
            id="a container twice",
        ),
        pytest.param(
            floors(("", {"cpu": "1"})),
            {(f"{STATIC}.minAllocatedResources[0].containerName", "Required")},
            id="a container without name",
        ),
        pytest.param(
            scaling(targetRefs={"tortoiseName": ""}),
            {("spec.targetRefs.tortoiseName", "Required")},
            id="no Tortoise",
        ),
    ],
)
def test_rules(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    result = validate("scheduledscaling.rules", obj, around=[TORTOISE])
    assert result.refused == refused
    assert result.warned == set()


def test_the_message_names_valid_quantities() -> None:
    result = validate(
        "scheduledscaling.rules", floors(("app", {"memory": "5GB"})), around=[TORTOISE]
    )
    assert "5G (powers of 1000) or 5Gi (powers of 1024)" in result.messages[0]


def test_a_missing_tortoise_is_a_warning() -> None:
    result = validate("scheduledscaling.rules", scaling())
    assert (result.refused, result.warned) == (set(), {"spec.targetRefs.tortoiseName"})
    assert validate("scheduledscaling.rules", scaling(), scaling()).messages == ()


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({"suspend": True}, False, id="another field"),
        pytest.param({"schedule": {"startAt": "2024-01-02T00:00:00Z"}}, True, id="the schedule"),
        pytest.param({"schedule": {"finishAt": "2027-01-02T00:00:00Z"}}, False, id="prolonged"),
    ],
)
def test_updates_are_compared_with_the_present_time_only_if_the_schedule_changes(
    changes: dict[str, Any], refused: bool
) -> None:
    old = at(startAt="2024-01-01T00:00:00Z", finishAt="2024-01-05T00:00:00Z")
    new = merged(old, {"spec": changes})
    result = validate("scheduledscaling.rules", new, old, around=[TORTOISE])
    assert result.refused == ({(f"{SCHEDULE}.finishAt", "Invalid")} if refused else set())


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        pytest.param({"cron": "* * * * *", "duration": "1m"}, "always overlap", id="every minute"),
        pytest.param({"cron": "0 0 * * *", "duration": "24h"}, "always overlap", id="day by day"),
        pytest.param({"cron": "0 0 * * 1-5", "duration": "24h"}, "", id="working days"),
        pytest.param({"cron": "0 9 * * *", "duration": "23h55m"}, "", id="closed for 5 minutes"),
        pytest.param(
            {"cron": "0 9 * * *", "duration": "23h55m1s"}, "only 299s", id="closed for 299 seconds"
        ),
        pytest.param({"cron": "*/2 * * * *", "duration": "1m"}, "only 60s", id="on and off"),
        pytest.param({"cron": "0 0 29 2 *"}, "", id="on leap days"),
        pytest.param({"cron": "0 0 */3 2 1#5"}, "matches no day", id="never"),
        pytest.param(
            {"cron": "* * * * *", "duration": "1m", "startAt": "9999-12-31T23:59:59Z"},
            "always overlap",
            id="at the end of the calendar",
        ),
    ],
)
def test_what_a_recurring_schedule_does_not_do_is_a_warning(
    schedule: dict[str, Any], message: str
) -> None:
    result = validate("scheduledscaling.rules", cron(**schedule), around=[TORTOISE])
    assert result.refused == set()
    assert result.warned == ({f"{SCHEDULE}.cron"} if message else set())
    assert all(message in each for each in result.messages)


def test_a_stored_schedule_is_not_warned_about_again() -> None:
    old = cron(cron="* * * * *", duration="1m")
    new = merged(old, {"spec": {"suspend": True}})
    result = validate("scheduledscaling.rules", new, old, around=[TORTOISE])
    assert (result.refused, result.messages) == (set(), ())


def _containers(count: int) -> dict[str, Any]:
    return floors(*((f"c{number}", {"cpu": "1"}) for number in range(count)))


def _resources(count: int) -> dict[str, Any]:
    return floors(("app", {f"example.org/r{number}": "1" for number in range(count)}))


RESOURCES = f"{STATIC}.minAllocatedResources"


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(_containers(100), set(), id="100 containers"),
        pytest.param(_containers(101), {(RESOURCES, "Invalid")}, id="101 containers"),
        pytest.param(_resources(20), set(), id="20 resources"),
        pytest.param(_resources(21), {(f"{RESOURCES}[0].resources", "Invalid")}, id="21 resources"),
        pytest.param(
            floors(("app", {"cpu": "1e" + "9" * 5000})), set(), id="an exponent of 5,000 digits"
        ),
        pytest.param(cron(duration="0h" * 98 + "1h"), set(), id="a duration of 198 characters"),
        pytest.param(
            cron(duration="0h" * 100 + "1h"),
            {(f"{SCHEDULE}.duration", "Invalid")},
            id="a duration of 202 characters",
        ),
        pytest.param(
            at(finishAt=f"2026-02-05T00:00:00.{'0' * 200}Z"),
            {(f"{SCHEDULE}.finishAt", "Invalid")},
            id="an end of 221 characters",
        ),
    ],
)
def test_the_size_of_a_spec_is_bounded(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("scheduledscaling.rules", obj, around=[TORTOISE]).refused == refused


def test_a_stored_object_with_more_floors_can_still_be_changed() -> None:
    old = _containers(101)
    new = merged(old, {"spec": {"suspend": True}})
    assert validate("scheduledscaling.rules", new, old, around=[TORTOISE]).refused == set()


@pytest.mark.parametrize(
    ("stored", "target", "refused"),
    [
        pytest.param(99, "cute-tortoise", False, id="the hundredth"),
        pytest.param(100, "cute-tortoise", True, id="one more"),
        pytest.param(100, "other", False, id="of another Tortoise"),
    ],
)
def test_a_tortoise_has_at_most_a_hundred_schedules(
    stored: int, target: str, refused: bool
) -> None:
    present = [merged(scaling(), {"metadata": {"name": f"s{n}"}}) for n in range(stored)]
    new = scaling(targetRefs={"tortoiseName": target})
    for old in (None, scaling(targetRefs={"tortoiseName": "former"})):
        result = validate("scheduledscaling.rules", new, old, around=[TORTOISE, *present])
        assert result.refused == (
            {("spec.targetRefs.tortoiseName", "Forbidden")} if refused else set()
        )


def test_one_of_too_many_stored_schedules_can_still_be_changed() -> None:
    present = [merged(scaling(), {"metadata": {"name": f"s{n}"}}) for n in range(200)]
    new = scaling(suspend=True)
    assert not validate("scheduledscaling.rules", new, scaling(), around=present).refused
