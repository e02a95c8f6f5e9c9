"""The extender service: which calls reserve capacity and are reported."""

import json
from typing import Any, cast

import pytest

from tests.support.fake_cache import FakeCache
from tests.support.landscape_objects import make_profile, make_seed, make_shoot, raw_shoot
from webhook.api.shoots import Shoot
from webhook.kube.meta import Draft
from webhook.placement.extender_service import ExtenderService
from webhook.runtime.actions import Emit
from webhook.scheduling.extender import NOT_AUTHORIZED
from webhook.state.snapshot import Snapshot

ROOM = 2
WAITING = [make_shoot(f"waiting-{index}") for index in range(ROOM + 1)]


class FakeRecorder:
    """Records the Events."""

    def __init__(self) -> None:
        self.events: list[Emit] = []

    def emit(self, event: Emit) -> None:
        self.events.append(event)


class Landscape:
    """A service over a seed with room for two shoots, and three shoots that wait."""

    def __init__(self) -> None:
        self.recorder = FakeRecorder()
        cache = FakeCache(self.snapshot)
        self.service = ExtenderService(
            cast("Any", None), cast("Any", cache), cast("Any", None), cast("Any", self.recorder)
        )

    def snapshot(self) -> Snapshot:
        return Snapshot.of([make_seed("seed", shoots=ROOM), make_profile(), *WAITING])

    def filter(self, subject: Draft, *, authorized: bool = True) -> Any:
        body = json.dumps({"Pod": subject, "NodeNames": ["seed"]}).encode()
        result = self.service.filter(body, self.snapshot(), authorized=authorized)
        if authorized:
            self.service.record(result)
        return json.loads(result.body)

    def has_room(self) -> bool:
        """Return whether the seed has room for one more shoot, next to the reservations."""
        return bool(self.filter(raw_shoot("another"))["NodeNames"])


@pytest.fixture
def landscape() -> Landscape:
    return Landscape()


def pod(shoot: Shoot) -> Draft:
    return {"metadata": {"annotations": {"espalier.gardener.cloud/shoot": str(shoot.key)}}}


def whole(shoot: Shoot, **metadata: str) -> Draft:
    draft = raw_shoot(shoot.name)
    return {**draft, "metadata": {**draft["metadata"], "uid": shoot.uid, **metadata}}


@pytest.mark.parametrize("subject", [pod, whole])
def test_a_known_shoot_reserves_capacity_and_its_failure_is_reported(
    landscape: Landscape, subject: Any
) -> None:
    for shoot in WAITING[:ROOM]:
        assert landscape.has_room()
        assert landscape.filter(subject(shoot))["NodeNames"] == ["seed"]
    assert not landscape.has_room()
    assert landscape.recorder.events == []
    assert landscape.filter(subject(WAITING[ROOM]))["NodeNames"] == []
    (event,) = landscape.recorder.events
    assert (event.regarding.name, event.reason) == (WAITING[ROOM].name, "SchedulingFailed")


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"name": "forged"}, id="a name that the cache does not have"),
        pytest.param({"uid": "forged"}, id="another uid"),
        pytest.param({"uid": ""}, id="no uid"),
    ],
)
def test_a_shoot_that_is_not_in_the_cache_with_that_uid_reserves_and_reports_nothing(
    landscape: Landscape, metadata: dict[str, str]
) -> None:
    for shoot in WAITING:
        assert landscape.filter(whole(shoot, **metadata))["NodeNames"] == ["seed"]
    assert landscape.has_room()
    far = whole(WAITING[0], **metadata)
    far["spec"]["region"] = "nowhere"
    assert landscape.filter(far)["NodeNames"] == []
    assert landscape.recorder.events == []


def test_what_is_reserved_is_what_the_cache_holds_of_the_shoot(landscape: Landscape) -> None:
    sent = whole(WAITING[0])
    sent["spec"]["seedName"] = "seed"
    landscape.filter(sent)
    landscape.filter(whole(WAITING[1]))
    assert not landscape.has_room()


def test_a_stranger_releases_no_reservation(landscape: Landscape) -> None:
    for shoot in WAITING[:ROOM]:
        landscape.filter(pod(shoot))
    for shoot in WAITING[:ROOM]:
        far = whole(shoot)
        far["spec"]["region"] = "nowhere"
        assert landscape.filter(far, authorized=False)["NodeNames"] == []
    assert not landscape.has_room()


def test_an_untrusted_client_learns_nothing_about_a_shoot_that_it_does_not_send(
    landscape: Landscape,
) -> None:
    for shoot in (WAITING[0], make_shoot("no-such-shoot")):
        assert landscape.filter(pod(shoot), authorized=False)["Error"] == NOT_AUTHORIZED
