"""Named checks of readiness and liveness, and the response of a probe."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from webhook.kube.clock import Clock


class CheckResult(NamedTuple):
    """Whether a check passes, with an optional detail."""

    passed: bool
    detail: str = ""


HealthCheck: TypeAlias = Callable[[], CheckResult]

PASSED: Final = CheckResult(True)


class HealthReport(NamedTuple):
    """The results of all checks, in their order."""

    results: dict[str, CheckResult]

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results.values())

    def text(self, probe: str, *, verbose: bool) -> str:
        """Format the report like the probes of Kubernetes.

        Failed checks are always listed, and so are passed ones with a detail: an operator who
        reads a probe wants to know that some kinds are stale.
        """
        lines = [
            _line(name, result)
            for name, result in self.results.items()
            if verbose or result.detail or not result.passed
        ]
        if not lines and self.passed:
            return "ok"
        lines.append(f"{probe} check {'passed' if self.passed else 'failed'}")
        return "\n".join(lines) + "\n"


def _line(name: str, result: CheckResult) -> str:
    mark, state = ("[+]", "ok") if result.passed else ("[-]", "failed")
    return f"{mark}{name} {state}" + (f": {result.detail}" if result.detail else "")


class Checks:
    """An ordered set of named checks."""

    def __init__(self) -> None:
        self._checks: dict[str, HealthCheck] = {}

    def add(self, name: str, check: HealthCheck) -> None:
        if name in self._checks:
            raise ValueError(f"a check named {name} exists already")
        self._checks[name] = check

    def report(self) -> HealthReport:
        """Run all checks now."""
        return HealthReport({name: check() for name, check in self._checks.items()})


class Sustained:
    """Ignores a fault until it has lasted for some time."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._since: float | None = None

    def lasts(self, faulty: bool) -> bool:
        """Record the current state and return whether the fault has lasted for too long."""
        if not faulty:
            self._since = None
            return False
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since > self._seconds
