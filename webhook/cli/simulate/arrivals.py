"""When shoots are created and deleted: read from a file, or random at a given rate."""

import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from webhook.api.shoots import Shoot, ShootSpec
from webhook.kube.meta import Metadata

COLUMNS: Final = ("day", "action", "shoot")
_MAX_RATE: Final = 100_000


class ArrivalsError(Exception):
    """Arrivals that cannot be read; the message names what is expected."""


class ShootEvent(NamedTuple):
    """The creation or deletion of a shoot; `at` is the time since the start."""

    at: timedelta
    action: Literal["create", "delete"]
    name: str
    shape: Shoot


def read(
    text: str, shapes: Sequence[Shoot], days: float, lifetime: float, seed: int
) -> list[ShootEvent]:
    """Read `--arrivals`: a CSV file, or a number of shoots a day."""
    try:
        rate = float(text)
    except ValueError:
        return replay(Path(text), shapes)
    if not 0 < rate < _MAX_RATE:
        raise ArrivalsError(f"--arrivals {text}: name a file, or how many shoots are created a day")
    return sorted(generate(rate, shapes, days, lifetime, random.Random(seed)))  # noqa: S311 - no secret


def generate(
    rate: float, shapes: Sequence[Shoot], days: float, lifetime: float, generator: random.Random
) -> Iterator[ShootEvent]:
    """Yield random creations, `rate` a day, and deletions after a random lifetime."""
    day, number = generator.expovariate(rate), 0
    while day < days:
        shape = shapes[number % len(shapes)]
        name = f"arrival-{number}"
        yield ShootEvent(timedelta(days=day), "create", name, shape)
        end = day + generator.expovariate(1 / lifetime)
        if end < days:
            yield ShootEvent(timedelta(days=end), "delete", name, shape)
        day += generator.expovariate(rate)
        number += 1


def replay(path: Path, shapes: Sequence[Shoot]) -> list[ShootEvent]:
    """Read a CSV file with the columns day, action, shoot and, optionally, region and provider."""
    try:
        rows = [*csv.DictReader(StringIO(path.read_text(encoding="utf-8")))]
    except (OSError, UnicodeDecodeError) as error:
        raise ArrivalsError(f"--arrivals {path}: {error}") from error
    events = [*_events(rows, shapes, path)]
    if not events:
        raise ArrivalsError(f"--arrivals {path}: needs columns {', '.join(COLUMNS)} and rows")
    return sorted(events, key=lambda event: event.at)


def _events(
    rows: Iterable[dict[str, str]], shapes: Sequence[Shoot], path: Path
) -> Iterator[ShootEvent]:
    for line, row in enumerate(rows, 2):
        action = row.get("action")
        try:
            day = float(row["day"])
            name = row["shoot"]
        except (KeyError, TypeError, ValueError) as error:
            raise ArrivalsError(f"{path}, line {line}: needs {', '.join(COLUMNS)}") from error
        if action not in ("create", "delete"):
            raise ArrivalsError(f"{path}, line {line}: action is create or delete, not {action!r}")
        shape = _with_row(shapes[line % len(shapes)], row)
        yield ShootEvent(
            timedelta(days=day), "create" if action == "create" else "delete", name, shape
        )


def _with_row(shape: Shoot, row: dict[str, str]) -> Shoot:
    spec: ShootSpec = shape.spec
    if region := row.get("region"):
        spec = msgspec.structs.replace(spec, region=region)
    if kind := row.get("provider"):
        provider = msgspec.structs.replace(spec.provider, type=kind)
        spec = msgspec.structs.replace(spec, provider=provider)
    return Shoot(metadata=Metadata(namespace=shape.namespace), spec=spec)
