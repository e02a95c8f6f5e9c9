from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.support.clocks import START, FakeClock
from webhook.runtime.health import Sustained
from webhook.server.traffic import Traffic
from webhook.tls.authority import Authority
from webhook.tls.rotation import Rotation
from webhook.tls.serving import ServingContext
from webhook.wiring.readiness import (
    LOST_SECONDS,
    check_bundle,
    check_cache,
    check_certificate,
    check_drain,
    check_uninstall,
)

OURS = Authority.create("ours", START)
OTHER = Authority.create("other", START)


@dataclass
class Status:
    name: str
    synced: bool


@dataclass
class FakeCache:
    """The part of the cache that readiness reads."""

    synced: bool = True
    lost_for: float = 0.0
    stale_kinds: list[str] = field(default_factory=list)

    def statuses(self) -> list[Status]:
        return [Status("shoots.core.gardener.cloud", self.synced)]


@pytest.mark.parametrize(
    ("cache", "passed", "detail"),
    [
        pytest.param(FakeCache(), True, "", id="all is followed"),
        pytest.param(
            FakeCache(synced=False),
            False,
            "not listed yet: shoots.core.gardener.cloud",
            id="the first list is not complete",
        ),
        pytest.param(
            FakeCache(stale_kinds=["shoots.core.gardener.cloud"]),
            True,
            "stale: shoots.core.gardener.cloud",
            id="some kinds are stale, which is only named",
        ),
        pytest.param(FakeCache(lost_for=LOST_SECONDS), True, "", id="all lost, but not for long"),
        pytest.param(
            FakeCache(lost_for=LOST_SECONDS + 1),
            False,
            "every watch is lost for 61 s",
            id="all lost",
        ),
    ],
)
def test_cache(cache: Any, passed: bool, detail: str) -> None:
    assert check_cache(cache) == (passed, detail)


def make_rotation() -> Rotation:
    return Rotation(ServingContext(OURS.sign_server(["localhost"], START, timedelta(hours=1))))


def test_an_expired_certificate_fails() -> None:
    clock = FakeClock()
    assert not check_certificate(None, clock).passed
    rotation = make_rotation()
    clock.pass_time(3599)
    assert check_certificate(rotation, clock).passed
    clock.pass_time(1)
    assert not check_certificate(rotation, clock).passed


def test_a_wrong_bundle_fails_only_once_something_was_published_and_only_after_a_minute() -> None:
    clock = FakeClock()
    mismatch, rotation = Sustained(clock, LOST_SECONDS), make_rotation()
    assert check_bundle(rotation, mismatch) == (True, "")
    rotation.publish([OTHER.certificate], 0)
    assert check_bundle(rotation, mismatch).passed
    clock.pass_time(LOST_SECONDS)
    assert check_bundle(rotation, mismatch).passed
    clock.pass_time(1)
    assert not check_bundle(rotation, mismatch).passed
    rotation.publish([OURS.certificate], clock.monotonic())
    assert check_bundle(rotation, mismatch) == (True, "")


def test_a_draining_server_is_not_ready() -> None:
    traffic = Traffic(FakeClock(), limit=1)
    assert check_drain(traffic).passed
    traffic.draining = True
    assert not check_drain(traffic).passed


def test_during_an_uninstall_a_server_stays_ready_with_a_notice() -> None:
    assert check_uninstall("") == (True, "")
    assert check_uninstall("is being uninstalled") == (True, "is being uninstalled")
