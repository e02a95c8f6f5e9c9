import pytest

from tests.clocks import FakeClock
from tests.unit.runtime.world import World
from webhook.api.core import ConfigMap, Event
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Metadata
from webhook.api.seeds import Seed
from webhook.cluster.errors import ForbiddenError
from webhook.runtime.actions import Emit
from webhook.runtime.events import BURST, MOST_MESSAGES, REFILL_SECONDS, WINDOW
from webhook.runtime.metrics import Metrics
from webhook.runtime.recorder import Recorder

KIND = kind_of_model(ConfigMap)
ONE = ConfigMap(metadata=Metadata(namespace="garden", name="one", uid="u1", resource_version="5"))


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = World(self.clock, Event)
        self.metrics = Metrics()
        self.recorder = Recorder(self.world, "pod-1", self.clock, self.metrics)

    async def emit(self, message: str, reason: str = "Failed", times: int = 1) -> None:
        for _ in range(times):
            self.recorder.emit(Emit(KIND, ONE, reason, message, "Warning"))
        await self.recorder.flush()

    @property
    def events(self) -> list[dict[str, object]]:
        return [obj for (kind, _), obj in self.world.objects.items() if kind == "Event"]

    def summary(self) -> dict[object, object]:
        return {event["message"]: event["count"] for event in self.events}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_an_event_says_what_happened_to_what(bench: Bench) -> None:
    await bench.emit("no room")
    [event] = bench.events
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "garden",
        "name": "one",
        "uid": "u1",
        "resourceVersion": "5",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Failed", "no room")
    assert (event["count"], event["firstTimestamp"]) == (1, "2026-03-01T12:00:00Z")
    assert event["source"] == {"component": "espalier", "host": "pod-1"}


async def test_what_repeats_is_counted(bench: Bench) -> None:
    await bench.emit("no room", times=3)
    bench.clock.pass_time(60)
    await bench.emit("no room")
    [event] = bench.events
    assert event["count"] == 4
    assert event["firstTimestamp"] == "2026-03-01T12:00:00Z"
    assert event["lastTimestamp"] == "2026-03-01T12:01:00Z"
    assert [verb for verb, _ in bench.world.calls] == ["create", "patch"], "one write for three"


async def test_what_repeats_much_later_is_another_event(bench: Bench) -> None:
    await bench.emit("no room")
    bench.clock.pass_time(WINDOW + 1)
    await bench.emit("no room")
    assert [event["count"] for event in bench.events] == [1, 1]


async def test_many_different_messages_become_one(bench: Bench) -> None:
    for index in range(MOST_MESSAGES + 3):
        await bench.emit(f"try {index}")
    summary = bench.summary()
    last = f"(combined from similar events): try {MOST_MESSAGES + 2}"
    assert len(summary) == MOST_MESSAGES + 1
    assert summary[last] == 3


async def test_one_object_cannot_flood_the_api_but_recovers(bench: Bench) -> None:
    for index in range(BURST + 10):
        await bench.emit("again", reason=f"R{index % 5}")
    assert sum(event["count"] for event in bench.events) == BURST  # type: ignore[misc]
    assert bench.metrics.events.labels("Warning", "dropped")._value.get() == 10
    bench.clock.pass_time(REFILL_SECONDS)
    await bench.emit("again", reason="R0")
    assert bench.metrics.events.labels("Warning", "dropped")._value.get() == 10


async def test_an_event_that_the_server_forgot_is_made_again(bench: Bench) -> None:
    await bench.emit("no room")
    bench.world.objects.clear()
    await bench.emit("no room")
    assert bench.summary() == {"no room": 2}


async def test_a_refusal_is_no_failure_of_ours(bench: Bench) -> None:
    bench.world.fails = [ForbiddenError(403, "Forbidden", "no")]
    await bench.emit("no room")
    assert bench.events == []
    await bench.emit("no room")
    assert bench.summary() == {"no room": 2}


async def test_the_lack_of_the_right_to_write_events_is_told_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    told = 'x is forbidden: User "espalier" cannot create resource "events" in API group ""'
    bench.world.fails = [ForbiddenError(403, "Forbidden", told)] * 5
    for number in range(5):
        await bench.emit(f"no room for {number}")
    assert bench.events == []
    assert [each.levelname for each in caplog.records if each.levelno >= 30] == ["WARNING"]


async def test_events_of_what_has_no_namespace_are_in_the_default_one(bench: Bench) -> None:
    seed = Seed(metadata=Metadata(name="aws-eu1", uid="s1"))
    bench.recorder.emit(Emit(kind_of_model(Seed), seed, "Full", "no room"))
    await bench.recorder.flush()
    [event] = bench.events
    assert event["metadata"]["namespace"] == "default"  # type: ignore[index]
