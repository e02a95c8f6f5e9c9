"""RFC 3339 timestamps in the formats of Kubernetes."""

import re
from datetime import UTC, datetime
from typing import Final

_RFC3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})\Z", re.ASCII
)
_SECONDS: Final = "%Y-%m-%dT%H:%M:%SZ"
_MICROSECONDS: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


class TimestampError(ValueError):
    """A text that is not an RFC 3339 timestamp."""


def parse_time(text: str) -> datetime:
    """Parse a timestamp; digits beyond the microsecond are dropped."""
    if not _RFC3339.match(text):
        raise TimestampError(_explain(text))
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimestampError(_explain(text)) from error


def format_time(instant: datetime) -> str:
    """Format a time to the second, in UTC, as metav1.Time does."""
    return instant.astimezone(UTC).strftime(_SECONDS)


def format_micro_time(instant: datetime) -> str:
    """Format a time to the microsecond, as metav1.MicroTime does (leases, events)."""
    return instant.astimezone(UTC).strftime(_MICROSECONDS)


def _explain(text: str) -> str:
    return f"{text!r} is not an RFC 3339 time, write it like 2026-01-31T22:00:00Z"
