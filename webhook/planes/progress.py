"""Show a long step's progress: one line that is rewritten on a terminal, else now and then one."""

import sys
import time
from typing import TextIO

_PLAIN_SECONDS = 15.0


def spell(seconds: float) -> str:
    """Write a duration as people say it."""
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
        """How long the step has run."""
        return spell(time.monotonic() - self._started)

    def begin(self, text: str) -> None:
        """Say that the step begins."""
        self._line(text)

    def tick(self, text: str) -> None:
        """Say how far it is; call it as often as you like."""
        if self._terminal:
            self._out.write(f"\r\x1b[K{self._step}: {text}, {self.elapsed}")
            self._out.flush()
        elif time.monotonic() - self._shown >= _PLAIN_SECONDS:
            self._shown = time.monotonic()
            self._line(f"{text}, {self.elapsed}")

    def end(self, text: str) -> None:
        """Say how it ended."""
        self._line(f"{text}, {self.elapsed}")

    def _line(self, text: str) -> None:
        clear = "\r\x1b[K" if self._terminal else ""
        self._out.write(f"{clear}{self._step}: {text}\n")
        self._out.flush()
