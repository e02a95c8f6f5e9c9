"""`espalier simulate nodegroups FILE`: the bounds of a worker pool after each event."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from rich.table import Table

from webhook.cli.simulate.chart import Chart, DataSeries
from webhook.domain.pools import increases, sizing
from webhook.domain.pools.even_sizes import ZoneRange
from webhook.domain.pools.sizing import Bounds, SizingStrategy

NAME: Final = "nodegroups"

_CONFIG: Final = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ScenarioError(Exception):
    """A scenario file that cannot be used; the message names the field and the reason."""


class PoolFile(BaseModel):
    """The pool at the start."""

    model_config = _CONFIG
    minimum: int = Field(ge=0)
    maximum: int = Field(ge=0)
    zones: int = Field(ge=1, le=100)
    sizing_strategy: SizingStrategy = sizing.DEFAULT_STRATEGY
    assigned: list[int] = []

    @model_validator(mode="after")
    def _is_consistent(self) -> "PoolFile":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is above maximum {self.maximum}")
        if self.assigned and len(self.assigned) != self.zones:
            raise ValueError(f"assigned needs one number for each of {self.zones} zones")
        return self


class EventFile(BaseModel):
    """What changes before a scan; zones are numbered from 0."""

    model_config = _CONFIG
    increase: dict[int, int] = {}
    decrease: dict[int, int] = {}
    bad: list[int] = []
    good: list[int] = []
    minimum: int | None = Field(None, ge=0)
    maximum: int | None = Field(None, ge=0)

    @property
    def zones(self) -> set[int]:
        return {*self.increase, *self.decrease, *self.bad, *self.good}


class ScenarioFile(BaseModel):
    """A pool and a list of events."""

    model_config = _CONFIG
    pool: PoolFile
    events: list[EventFile] = []

    @model_validator(mode="after")
    def _has_known_zones(self) -> "ScenarioFile":
        for number, event in enumerate(self.events):
            if unknown := {zone for zone in event.zones if not 0 <= zone < self.pool.zones}:
                raise ValueError(f"events[{number}]: there is no zone {min(unknown)}")
        return self


class GroupScan(NamedTuple):
    """The bounds and the size of one node group at one scan."""

    bounds: Bounds
    assigned: int
    is_bad: bool


Scan = Sequence[GroupScan]


def read(path: str) -> ScenarioFile:
    """Read a scenario file; raises ScenarioError."""
    try:
        content: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return ScenarioFile.model_validate(content)
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise ScenarioError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or path
        raise ScenarioError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error


def scans(scenario: ScenarioFile) -> list[Scan]:
    """Compute a scan of the initial pool, and one after each event."""
    pool = scenario.pool
    definition = sizing.PoolBounds(pool.minimum, pool.maximum, pool.zones, pool.sizing_strategy)
    assigned = [*pool.assigned] or [0] * pool.zones
    bad: set[int] = set()
    found = [_scan(definition, assigned, bad)]
    for event in scenario.events:
        definition = definition._replace(
            minimum=definition.minimum if event.minimum is None else event.minimum,
            maximum=definition.maximum if event.maximum is None else event.maximum,
        )
        bad = (bad | {*event.bad}) - {*event.good}
        _resize(definition, assigned, bad, event)
        found.append(_scan(definition, assigned, bad))
    return found


def table(found: Sequence[Scan]) -> Table:
    """List the groups of every scan."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("SCAN", "GROUP", "MIN", "MAX", "ASSIGNED", ""):
        shown.add_column(title, justify="right" if title in ("MIN", "MAX", "ASSIGNED") else "left")
    for number, scan in enumerate(found):
        for zone, group in enumerate(scan):
            shown.add_row(
                f"Scan-{number}" if zone == 0 else "",
                f"NG{zone}",
                *(str(each) for each in (*group.bounds, group.assigned)),
                "backoff" if group.is_bad else "",
            )
    return shown


def charts(found: Sequence[Scan]) -> list[Chart]:
    """Make a chart for each group: its bounds and its size over the scans."""
    made = []
    for zone in range(len(found[0])):
        groups = [scan[zone] for scan in found]
        values: Mapping[str, list[int]] = {
            "min": [group.bounds.minimum for group in groups],
            "max": [group.bounds.maximum for group in groups],
            "assigned": [group.assigned for group in groups],
        }
        series = [
            DataSeries(name, [(float(at), float(value)) for at, value in enumerate(listed)])
            for name, listed in values.items()
        ]
        made.append(Chart(f"NG{zone}", series))
    return made


def _resize(
    definition: sizing.PoolBounds, assigned: list[int], bad: set[int], event: EventFile
) -> None:
    """Change sizes as the server does: increases share what is left of the pool.

    The increases of an event are those of one scale-up, in their order.
    """
    for zone, count in event.decrease.items():
        assigned[zone] = max(0, assigned[zone] - count)
    wanted = {str(zone): assigned[zone] + count for zone, count in event.increase.items()}
    for zone in event.increase:
        zones = _ranges(definition, assigned, bad, zone)
        first = increases.first_size(zones, max(0, definition.maximum - sum(assigned)))
        assigned[zone] = max(assigned[zone], min(wanted[str(zone)], first))
    left = max(0, definition.maximum - sum(assigned))
    rest = increases.rest(_ranges(definition, assigned, bad), wanted, left)
    for name, size in rest.items():
        assigned[int(name)] = size


def _ranges(
    definition: sizing.PoolBounds, assigned: Sequence[int], bad: set[int], asking: int = -1
) -> list[ZoneRange]:
    """Return the sizes and limits of zones, the asking one first; bad zones get no share."""
    scan = _scan(definition, assigned, bad)
    found = [
        ZoneRange(
            str(zone),
            group.assigned,
            0 if group.is_bad and zone != asking else group.bounds.maximum,
        )
        for zone, group in enumerate(scan)
    ]
    return sorted(found, key=lambda each: each.name != str(asking))


def _scan(definition: sizing.PoolBounds, assigned: Sequence[int], bad: set[int]) -> Scan:
    groups = [sizing.ZoneSize(zone, size, zone in bad) for zone, size in enumerate(assigned)]
    sized = sizing.bounds(definition, groups)
    return [GroupScan(*each) for each in zip(sized, assigned, (g.bad for g in groups), strict=True)]
