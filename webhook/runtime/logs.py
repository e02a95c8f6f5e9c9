"""Structured logs on the standard library: constant messages with fields, some from context."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import IO, Any, Final, Literal, TypeAlias

import msgspec
from typing_extensions import override

Format: TypeAlias = Literal["json", "text"]

_FIELDS: Final[ContextVar[MappingProxyType[str, Any]]] = ContextVar(
    "log_fields",
    default=MappingProxyType({}),
)

# The attributes that the standard library sets on a record; all others come from `extra`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

# Loggers of libraries that log every connection, or what we log ourselves.
_QUIET_LOGGERS: Final = ("aiohttp.access", "asyncio", "kubernetes_asyncio")


@contextmanager
def fields(**values: Any) -> Iterator[None]:
    """Add fields to every line logged inside the block, in this task and those it starts."""
    token = _FIELDS.set(MappingProxyType({**_FIELDS.get(), **values}))
    try:
        yield
    finally:
        _FIELDS.reset(token)


class LogDeduplicator:
    """Lowers the level of a repeated message until the fault is over."""

    def __init__(self) -> None:
        self._last = ""

    def level(self, text: str) -> int:
        """Return WARNING for a new message and DEBUG for a repetition of the last one."""
        is_known, self._last = text == self._last, text
        return logging.DEBUG if is_known else logging.WARNING

    def end(self) -> None:
        """Record that the fault is over."""
        self._last = ""


def configure(form: Format, level: str, stream: IO[str] | None = None) -> None:
    """Write all log lines of the program to one stream in one format."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def collect(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a record: those of the context, then its own."""
    own = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**_FIELDS.get(), **own}


def timestamp(record: logging.LogRecord) -> str:
    """Return the time of a record, in UTC, to the millisecond."""
    text = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **collect(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class TextFormatter(logging.Formatter):
    """Formats a record as one line of text."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        extras = "".join(f" {name}={_quote(value)}" for name, value in collect(record).items())
        level = record.levelname.lower()
        line = f"{timestamp(record)} {level:<7} {record.getMessage()}{extras} ({record.name})"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _quote(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(c.isspace() or c in "\"'=" for c in text) else text
