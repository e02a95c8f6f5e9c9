"""Named checks of readiness and liveness, and what a probe answers."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from webhook.runtime.clock import Clock


class Verdict(NamedTuple):
    """Whether a check passes, and what there is to say either way."""

    passed: bool
    detail: str = ""


Check: TypeAlias = Callable[[], Verdict]

PASSED = Verdict(True)


class Report(NamedTuple):
    """The verdicts of all checks, in their order."""

    verdicts: dict[str, Verdict]

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts.values())

    def text(self, probe: str, *, verbose: bool) -> str:
        """Write the report as Kubernetes' own probes do.

        What failed is always named, and so is what passes but has something to say: an operator
        who looks at a probe wants to know that some kinds are stale.
        """
        lines = [
            _line(name, verdict)
            for name, verdict in self.verdicts.items()
            if verbose or verdict.detail or not verdict.passed
        ]
        if not lines and self.passed:
            return "ok"
        lines.append(f"{probe} check {'passed' if self.passed else 'failed'}")
        return "\n".join(lines) + "\n"


def _line(name: str, verdict: Verdict) -> str:
    mark, word = ("[+]", "ok") if verdict.passed else ("[-]", "failed")
    return f"{mark}{name} {word}" + (f": {verdict.detail}" if verdict.detail else "")


class Checks:
    """An ordered set of named checks."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        if name in self._checks:
            raise ValueError(f"there is a check named {name} already")
        self._checks[name] = check

    def report(self) -> Report:
        """Ask every check now."""
        return Report({name: check() for name, check in self._checks.items()})


class Sustained:
    """Turns a fault that comes and goes into one that counts only once it lasted."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._since: float | None = None

    def lasts(self, faulty: bool) -> bool:
        """Take note of the state now, and say whether the fault has lasted for too long."""
        if not faulty:
            self._since = None
            return False
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since > self._seconds
