"""The program with a clock that is off: `python -m tests.support.skewed_clock SECONDS serve …`."""

import sys
from datetime import UTC, datetime, timedelta

from webhook.cli.main import main
from webhook.kube.clock import SystemClock


def run(arguments: list[str]) -> int:
    """Skew the clock, then run `espalier`."""
    skew = timedelta(seconds=float(arguments[0]))

    def now(_clock: SystemClock) -> datetime:
        return datetime.now(UTC) + skew

    setattr(SystemClock, "now", now)  # noqa: B010 - a method is replaced on purpose
    return main(arguments[1:])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
