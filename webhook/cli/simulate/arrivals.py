"""When shoots come and go: replayed from a file, or drawn at random at a rate."""

import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from webhook.api.meta import Metadata
from webhook.api.shoots import Shoot, ShootSpec

COLUMNS: Final = ("day", "action", "shoot")
_LONGEST: Final = 100_000


class ArrivalsError(Exception):
    """Arrivals that cannot be read; the message says what is expected."""


class Event(NamedTuple):
    """A shoot that comes or goes, so long after the start."""

    at: timedelta
    action: Literal["create", "delete"]
    name: str
    shape: Shoot


def read(
    text: str, shapes: Sequence[Shoot], days: float, lifetime: float, seed: int
) -> list[Event]:
    """Read `--arrivals`: a CSV file, or a number of shoots a day."""
    try:
        rate = float(text)
    except ValueError:
        return replayed(Path(text), shapes)
    if not 0 < rate < _LONGEST:
        raise ArrivalsError(f"--arrivals {text}: name a file, or how many shoots come in a day")
    return sorted(drawn(rate, shapes, days, lifetime, random.Random(seed)))  # noqa: S311 - no secret


def drawn(
    rate: float, shapes: Sequence[Shoot], days: float, lifetime: float, chance: random.Random
) -> Iterator[Event]:
    """Let shoots come at random, so many a day, and each live for a random time."""
    day, number = chance.expovariate(rate), 0
    while day < days:
        shape = shapes[number % len(shapes)]
        name = f"arrival-{number}"
        yield Event(timedelta(days=day), "create", name, shape)
        end = day + chance.expovariate(1 / lifetime)
        if end < days:
            yield Event(timedelta(days=end), "delete", name, shape)
        day += chance.expovariate(rate)
        number += 1


def replayed(path: Path, shapes: Sequence[Shoot]) -> list[Event]:
    """Read a CSV file with the columns day, action and shoot; region and provider if they vary."""
    try:
        rows = [*csv.DictReader(StringIO(path.read_text(encoding="utf-8")))]
    except (OSError, UnicodeDecodeError) as error:
        raise ArrivalsError(f"--arrivals {path}: {error}") from error
    events = [*_events(rows, shapes, path)]
    if not events:
        raise ArrivalsError(f"--arrivals {path}: needs columns {', '.join(COLUMNS)} and rows")
    return sorted(events, key=lambda event: event.at)


def _events(rows: Iterable[dict[str, str]], shapes: Sequence[Shoot], path: Path) -> Iterator[Event]:
    for line, row in enumerate(rows, 2):
        action = row.get("action")
        try:
            day = float(row["day"])
            name = row["shoot"]
        except (KeyError, TypeError, ValueError) as error:
            raise ArrivalsError(f"{path}, line {line}: needs {', '.join(COLUMNS)}") from error
        if action not in ("create", "delete"):
            raise ArrivalsError(f"{path}, line {line}: action is create or delete, not {action!r}")
        shape = _shaped(shapes[line % len(shapes)], row)
        yield Event(timedelta(days=day), "create" if action == "create" else "delete", name, shape)


def _shaped(shape: Shoot, row: dict[str, str]) -> Shoot:
    spec: ShootSpec = shape.spec
    if region := row.get("region"):
        spec = msgspec.structs.replace(spec, region=region)
    if kind := row.get("provider"):
        provider = msgspec.structs.replace(spec.provider, type=kind)
        spec = msgspec.structs.replace(spec, provider=provider)
    return Shoot(metadata=Metadata(namespace=shape.namespace), spec=spec)
