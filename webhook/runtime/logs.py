"""Structured logs on the standard library: constant messages, fields as data, ids from context."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import IO, Any, Literal, TypeAlias

import msgspec
from typing_extensions import override

Format: TypeAlias = Literal["json", "text"]

_FIELDS: ContextVar[MappingProxyType[str, Any]] = ContextVar(
    "log_fields",
    default=MappingProxyType({}),
)

# What the standard library itself puts on a record; all else came with `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

# Loggers of libraries that tell every connection, or what we tell ourselves.
_CHATTY = ("aiohttp.access", "asyncio", "kubernetes_asyncio")


@contextmanager
def fields(**values: Any) -> Iterator[None]:
    """Add fields to every line logged inside the block, in this task and those it starts."""
    token = _FIELDS.set(MappingProxyType({**_FIELDS.get(), **values}))
    try:
        yield
    finally:
        _FIELDS.reset(token)


class Repeats:
    """Knows what was said last, so that the same trouble is told once until it is over."""

    def __init__(self) -> None:
        self._last = ""

    def level(self, text: str) -> int:
        """Say how loud to be about something."""
        is_known, self._last = text == self._last, text
        return logging.DEBUG if is_known else logging.WARNING

    def end(self) -> None:
        """Take note that all is well again."""
        self._last = ""


def configure(form: Format, level: str, stream: IO[str] | None = None) -> None:
    """Send every log line of the program to one stream in one format."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def collect(record: logging.LogRecord) -> dict[str, Any]:
    """Gather a record's fields: those of the context, then its own."""
    own = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**_FIELDS.get(), **own}


def moment(record: logging.LogRecord) -> str:
    """Say when the record was made, in UTC, to the millisecond."""
    text = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for machines."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **collect(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class TextFormatter(logging.Formatter):
    """One line of text, for people."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        extras = "".join(f" {name}={_quote(value)}" for name, value in collect(record).items())
        level = record.levelname.lower()
        line = f"{moment(record)} {level:<7} {record.getMessage()}{extras} ({record.name})"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _quote(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(c.isspace() or c in "\"'=" for c in text) else text
