"""Recorded responses of a real server, with which the embedded one is compared."""

import os
from pathlib import Path
from typing import Any

import orjson

RECORDING = os.environ.get("ESPALIER_RECORD") == "1"
_FOLDER = Path(__file__).with_name("recorded")


class Record:
    """Responses by name in one file; ESPALIER_RECORD=1 records those of a real server."""

    def __init__(self, name: str) -> None:
        self._path = _FOLDER / f"{name}.json"
        self._answers: dict[str, Any] = {}
        if self._path.exists():
            self._answers = orjson.loads(self._path.read_bytes())

    def expected(self, key: str) -> Any:
        """Return what was recorded under a name; empty while recording."""
        return () if RECORDING else self._answers.get(key, ())

    def check(self, key: str, answer: Any, *, is_real: bool) -> None:
        """Compare with what a real server answered when it was recorded."""
        if RECORDING and is_real:
            self._answers[key] = answer
            options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
            self._path.write_bytes(orjson.dumps(self._answers, option=options))
        assert answer == self._answers[key]

    @property
    def keys(self) -> set[str]:
        return set(self._answers)
