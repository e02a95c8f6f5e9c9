"""The readiness checks of a replica."""

from collections.abc import Callable
from typing import Final

from webhook.cluster.cache import Cache
from webhook.kube.clock import Clock
from webhook.runtime.health import PASSED, CheckResult, Checks, Sustained
from webhook.server.traffic import Traffic
from webhook.tls.bundle import not_after
from webhook.tls.rotation import Rotation

LOST_SECONDS: Final = 60.0
"""How long all watches may be lost, or the published CA bundle be wrong, before a check fails."""


def make_checks(
    cache: Cache, rotation: Callable[[], Rotation | None], traffic: Traffic, clock: Clock
) -> Checks:
    """Return all readiness checks."""
    checks = Checks()
    checks.add("cache", lambda: check_cache(cache))
    checks.add("certificate", lambda: check_certificate(rotation(), clock))
    mismatch = Sustained(clock, LOST_SECONDS)
    checks.add("ca-bundle", lambda: check_bundle(rotation(), mismatch))
    checks.add("drain", lambda: check_drain(traffic))
    return checks


def check_cache(cache: Cache) -> CheckResult:
    """Pass with a detail while some kinds are stale, fail when all watches are lost.

    An aggregated API that is down must not take all replicas out of the Service at once.
    """
    if not cache.synced:
        waiting = [status.name for status in cache.statuses() if not status.synced]
        return CheckResult(False, f"not listed yet: {', '.join(sorted(waiting))}")
    lost = cache.lost_for
    if lost > LOST_SECONDS:
        return CheckResult(False, f"every watch is lost for {lost:.0f} s")
    stale = cache.stale_kinds
    return CheckResult(True, f"stale: {', '.join(stale)}") if stale else PASSED


def check_certificate(rotation: Rotation | None, clock: Clock) -> CheckResult:
    """Fail without a certificate or with an expired one."""
    if rotation is None:
        return CheckResult(False, "there is none yet")
    expires = not_after(rotation.serving.pair.certificate)
    if clock.now() >= expires:
        return CheckResult(False, f"expired at {expires.isoformat()}")
    return PASSED


def check_bundle(rotation: Rotation | None, mismatch: Sustained) -> CheckResult:
    """Fail while the published CA bundle does not trust the served certificate."""
    wrong = rotation is not None and not rotation.is_trusted
    if mismatch.lasts(wrong):
        return CheckResult(False, "the published caBundle does not trust the served certificate")
    return CheckResult(True, "the published caBundle is being changed") if wrong else PASSED


def check_drain(traffic: Traffic) -> CheckResult:
    """Fail while the server drains."""
    return CheckResult(False, "stopping") if traffic.draining else PASSED


def check_uninstall(notice: str) -> CheckResult:
    """Pass during an uninstall: API servers call until the webhook configurations are gone."""
    return CheckResult(True, notice)
