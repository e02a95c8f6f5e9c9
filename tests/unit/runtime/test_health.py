import pytest

from tests.support.clocks import FakeClock
from webhook.runtime.health import PASSED, CheckResult, Checks, Sustained


def make_checks(**verdicts: CheckResult) -> Checks:
    checks = Checks()
    for name, verdict in verdicts.items():
        checks.add(name, lambda verdict=verdict: verdict)  # type: ignore[misc]  # bound early
    return checks


@pytest.mark.parametrize(
    ("verdicts", "verbose", "passed", "text"),
    [
        pytest.param({}, False, True, "ok", id="without checks the probe passes"),
        pytest.param({"a": PASSED}, False, True, "ok", id="a passed check is not listed"),
        pytest.param(
            {"a": PASSED, "b": PASSED},
            True,
            True,
            "[+]a ok\n[+]b ok\nreadyz check passed\n",
            id="verbose lists everything",
        ),
        pytest.param(
            {"a": PASSED, "cache": CheckResult(True, "stale: shoots.core.gardener.cloud")},
            False,
            True,
            "[+]cache ok: stale: shoots.core.gardener.cloud\nreadyz check passed\n",
            id="a passed check with a detail is listed",
        ),
        pytest.param(
            {"a": PASSED, "certificate": CheckResult(False, "expired")},
            False,
            False,
            "[-]certificate failed: expired\nreadyz check failed\n",
            id="one failed check fails the probe and is listed",
        ),
    ],
)
def test_report(verdicts: dict[str, CheckResult], verbose: bool, passed: bool, text: str) -> None:
    report = make_checks(**verdicts).report()
    assert report.passed is passed
    assert report.text("readyz", verbose=verbose) == text


def test_names_of_checks_are_unique() -> None:
    checks = make_checks(a=PASSED)
    with pytest.raises(ValueError, match="named a exists already"):
        checks.add("a", lambda: PASSED)


def test_a_fault_counts_only_after_it_lasted_without_interruption() -> None:
    clock = FakeClock()
    fault = Sustained(clock, 60)
    assert not fault.lasts(True)
    clock.pass_time(60)
    assert not fault.lasts(True)
    clock.pass_time(0.1)
    assert fault.lasts(True)
    assert not fault.lasts(False)
    clock.pass_time(1)
    assert not fault.lasts(True)
