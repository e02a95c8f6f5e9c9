"""What makes a replica ready, and what only deserves to be named."""

from collections.abc import Callable

from webhook.cluster.cache import Cache
from webhook.runtime.clock import Clock
from webhook.runtime.health import PASSED, Checks, Sustained, Verdict
from webhook.server.traffic import Traffic
from webhook.tls.bundle import not_after
from webhook.tls.rotation import Rotation

LOST_SECONDS = 60.0
"""How long every watch may be lost, or the published bundle be wrong, before that counts."""


def make_checks(
    cache: Cache, rotation: Callable[[], Rotation | None], traffic: Traffic, clock: Clock
) -> Checks:
    """Put the checks of readiness together."""
    checks = Checks()
    checks.add("cache", lambda: check_cache(cache))
    checks.add("certificate", lambda: check_certificate(rotation(), clock))
    mismatch = Sustained(clock, LOST_SECONDS)
    checks.add("ca-bundle", lambda: check_bundle(rotation(), mismatch))
    checks.add("drain", lambda: check_drain(traffic))
    return checks


def check_cache(cache: Cache) -> Verdict:
    """One lost kind is named; only when all are lost somebody else had better answer.

    An aggregated API that is down must not take all replicas out of the Service at once.
    """
    if not cache.synced:
        waiting = [status.name for status in cache.statuses() if not status.synced]
        return Verdict(False, f"not listed yet: {', '.join(sorted(waiting))}")
    lost = cache.lost_for
    if lost > LOST_SECONDS:
        return Verdict(False, f"every watch is lost for {lost:.0f} s")
    stale = cache.stale_kinds
    return Verdict(True, f"stale: {', '.join(stale)}") if stale else PASSED


def check_certificate(rotation: Rotation | None, clock: Clock) -> Verdict:
    """Nobody can connect with an expired certificate."""
    if rotation is None:
        return Verdict(False, "there is none yet")
    expires = not_after(rotation.serving.pair.certificate)
    if clock.now() >= expires:
        return Verdict(False, f"expired at {expires.isoformat()}")
    return PASSED


def check_bundle(rotation: Rotation | None, mismatch: Sustained) -> Verdict:
    """API servers refuse a certificate that the published bundle does not vouch for."""
    wrong = rotation is not None and not rotation.is_trusted
    if mismatch.lasts(wrong):
        return Verdict(False, "the published caBundle does not vouch for the served certificate")
    return Verdict(True, "the published caBundle is being changed") if wrong else PASSED


def check_drain(traffic: Traffic) -> Verdict:
    """Who leaves asks for no more work."""
    return Verdict(False, "stopping") if traffic.draining else PASSED


def check_leaving(told: str) -> Verdict:
    """Who was told to leave still answers: API servers call until their webhooks are gone."""
    return Verdict(True, told)
