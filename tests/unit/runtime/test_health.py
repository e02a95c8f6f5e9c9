import pytest

from tests.clocks import FakeClock
from webhook.runtime.health import PASSED, Checks, Sustained, Verdict


def make_checks(**verdicts: Verdict) -> Checks:
    checks = Checks()
    for name, verdict in verdicts.items():
        checks.add(name, lambda verdict=verdict: verdict)  # type: ignore[misc]  # bound early
    return checks


@pytest.mark.parametrize(
    ("verdicts", "verbose", "passed", "text"),
    [
        pytest.param({}, False, True, "ok", id="without checks all is well"),
        pytest.param({"a": PASSED}, False, True, "ok", id="what passes silently is not listed"),
        pytest.param(
            {"a": PASSED, "b": PASSED},
            True,
            True,
            "[+]a ok\n[+]b ok\nreadyz check passed\n",
            id="verbose lists everything",
        ),
        pytest.param(
            {"a": PASSED, "cache": Verdict(True, "stale: shoots.core.gardener.cloud")},
            False,
            True,
            "[+]cache ok: stale: shoots.core.gardener.cloud\nreadyz check passed\n",
            id="what passes but has something to say is named",
        ),
        pytest.param(
            {"a": PASSED, "certificate": Verdict(False, "expired")},
            False,
            False,
            "[-]certificate failed: expired\nreadyz check failed\n",
            id="one failure fails the probe and is named",
        ),
    ],
)
def test_report(verdicts: dict[str, Verdict], verbose: bool, passed: bool, text: str) -> None:
    report = make_checks(**verdicts).report()
    assert report.passed is passed
    assert report.text("readyz", verbose=verbose) == text


def test_a_name_is_taken_once() -> None:
    checks = make_checks(a=PASSED)
    with pytest.raises(ValueError, match="named a already"):
        checks.add("a", lambda: PASSED)


def test_a_fault_counts_only_after_it_lasted_without_a_break() -> None:
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
