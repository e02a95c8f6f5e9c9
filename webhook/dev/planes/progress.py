"""Shows the progress of a step: one rewritten line on a terminal, else a line now and then."""

import sys
import time
from typing import Final, TextIO

_PLAIN_SECONDS: Final = 15.0
"""Time between lines where the output is no terminal."""


def format_seconds(seconds: float) -> str:
    """Format a duration in minutes and seconds."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


class Progress:
    """The progress of one step out of several."""

    def __init__(self, step: str, out: TextIO | None = None) -> None:
        self._step = step
        self._out = out or sys.stderr
        self._terminal = self._out.isatty()
        self._started = time.monotonic()
        self._shown = self._started

    @property
    def elapsed(self) -> str:
        """The time since the step began."""
        return format_seconds(time.monotonic() - self._started)

    def begin(self, text: str) -> None:
        """Show that the step begins."""
        self._line(text)

    def tick(self, text: str) -> None:
        """Show the state of the step; frequent calls are cheap."""
        if self._terminal:
            self._out.write(f"\r\x1b[K{self._step}: {text}, {self.elapsed}")
            self._out.flush()
        elif time.monotonic() - self._shown >= _PLAIN_SECONDS:
            self._shown = time.monotonic()
            self._line(f"{text}, {self.elapsed}")

    def end(self, text: str) -> None:
        """Show how the step ended."""
        self._line(f"{text}, {self.elapsed}")

    def _line(self, text: str) -> None:
        clear = "\r\x1b[K" if self._terminal else ""
        self._out.write(f"{clear}{self._step}: {text}\n")
        self._out.flush()
