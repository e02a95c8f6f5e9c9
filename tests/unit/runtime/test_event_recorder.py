import pytest

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import ConfigMap, Event
from webhook.api.event_reasons import EVENT_REASONS, Reason
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.cluster.errors import ForbiddenError
from webhook.kube.meta import Metadata
from webhook.runtime.actions import Emit
from webhook.runtime.event_correlator import BURST, MAX_MESSAGES, REFILL_SECONDS, WINDOW
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics

KIND = kind_of_model(ConfigMap)
ONE = ConfigMap(metadata=Metadata(namespace="garden", name="one", uid="u1", resource_version="5"))


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = FakeCluster(self.clock, Event)
        self.metrics = Metrics()
        self.recorder = EventRecorder(self.cluster, "pod-1", self.clock, self.metrics)

    async def emit(self, message: str, reason: Reason = "SchedulingFailed", times: int = 1) -> None:
        for _ in range(times):
            self.recorder.emit(Emit(KIND, ONE, reason, message, "Warning"))
        await self.recorder.flush()

    @property
    def events(self) -> list[dict[str, object]]:
        return [obj for (model, _), obj in self.cluster.objects.items() if model is Event]

    def summary(self) -> dict[object, object]:
        return {event["message"]: event["count"] for event in self.events}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_an_event_names_its_object_and_reason(bench: Bench) -> None:
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
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "SchedulingFailed",
        "no room",
    )
    assert (event["count"], event["firstTimestamp"]) == (1, "2026-03-01T12:00:00Z")
    assert event["source"] == {"component": "espalier", "host": "pod-1"}


async def test_a_repeated_event_is_counted(bench: Bench) -> None:
    await bench.emit("no room", times=3)
    bench.clock.pass_time(60)
    await bench.emit("no room")
    [event] = bench.events
    assert event["count"] == 4
    assert event["firstTimestamp"] == "2026-03-01T12:00:00Z"
    assert event["lastTimestamp"] == "2026-03-01T12:01:00Z"
    assert [call.verb for call in bench.cluster.calls] == ["create", "patch"], "one write for three"


async def test_a_repetition_after_the_window_is_another_event(bench: Bench) -> None:
    await bench.emit("no room")
    bench.clock.pass_time(WINDOW + 1)
    await bench.emit("no room")
    assert [event["count"] for event in bench.events] == [1, 1]


async def test_many_different_messages_are_combined(bench: Bench) -> None:
    for index in range(MAX_MESSAGES + 3):
        await bench.emit(f"try {index}")
    summary = bench.summary()
    last = f"(combined from similar events): try {MAX_MESSAGES + 2}"
    assert len(summary) == MAX_MESSAGES + 1
    assert summary[last] == 3


async def test_the_events_of_one_object_are_rate_limited(bench: Bench) -> None:
    reasons = sorted(EVENT_REASONS)[:5]
    for index in range(BURST + 10):
        await bench.emit("again", reason=reasons[index % 5])
    assert sum(event["count"] for event in bench.events) == BURST  # type: ignore[misc]
    assert bench.metrics.events.labels("Warning", "dropped")._value.get() == 10
    bench.clock.pass_time(REFILL_SECONDS)
    await bench.emit("again", reason=reasons[0])
    assert bench.metrics.events.labels("Warning", "dropped")._value.get() == 10


async def test_an_event_that_the_server_deleted_is_created_again(bench: Bench) -> None:
    await bench.emit("no room")
    bench.cluster.objects.clear()
    await bench.emit("no room")
    assert bench.summary() == {"no room": 2}


async def test_a_refused_event_is_counted_and_logged(bench: Bench) -> None:
    bench.cluster.faults = [ForbiddenError(403, "Forbidden", "no")]
    await bench.emit("no room")
    assert bench.events == []
    await bench.emit("no room")
    assert bench.summary() == {"no room": 2}


async def test_a_missing_permission_to_write_events_is_logged_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    message = 'x is forbidden: User "espalier" cannot create resource "events" in API group ""'
    bench.cluster.faults = [ForbiddenError(403, "Forbidden", message)] * 5
    for number in range(5):
        await bench.emit(f"no room for {number}")
    assert bench.events == []
    assert [each.levelname for each in caplog.records if each.levelno >= 30] == ["WARNING"]


async def test_events_of_cluster_scoped_objects_are_in_the_default_namespace(bench: Bench) -> None:
    seed = Seed(metadata=Metadata(name="aws-eu1", uid="s1"))
    bench.recorder.emit(Emit(kind_of_model(Seed), seed, "CapacityMalformed", "no room"))
    await bench.recorder.flush()
    [event] = bench.events
    assert event["metadata"]["namespace"] == "default"  # type: ignore[index]
