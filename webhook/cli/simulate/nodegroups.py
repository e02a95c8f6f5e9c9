"""`espalier simulate nodegroups FILE`: a pool's bounds, scan by scan, as events come."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from rich.table import Table

from webhook.cli.simulate.chart import Line, Panel
from webhook.domain import sizing
from webhook.domain.sizing import Bounds, Strategy

NAME: Final = "nodegroups"

_CONFIG: Final = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


class ScenarioError(Exception):
    """A file that there is nothing to simulate in; the message says where and why."""


class PoolFile(BaseModel):
    """The pool at the beginning."""

    model_config = _CONFIG
    minimum: int = Field(ge=0)
    maximum: int = Field(ge=0)
    zones: int = Field(ge=1, le=100)
    sizing_strategy: Strategy = sizing.DEFAULT_STRATEGY
    assigned: list[int] = []

    @model_validator(mode="after")
    def _agrees(self) -> "PoolFile":
        if self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum} is above maximum {self.maximum}")
        if self.assigned and len(self.assigned) != self.zones:
            raise ValueError(f"assigned needs one number for each of {self.zones} zones")
        return self


class EventFile(BaseModel):
    """What happens before a scan; zones are counted from 0, as the design does."""

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
    def _knows_its_zones(self) -> "ScenarioFile":
        for number, event in enumerate(self.events):
            if unknown := {zone for zone in event.zones if not 0 <= zone < self.pool.zones}:
                raise ValueError(f"events[{number}]: there is no zone {min(unknown)}")
        return self


class Group(NamedTuple):
    """One group in one scan."""

    bounds: Bounds
    assigned: int
    is_bad: bool


Scan = Sequence[Group]


def read(path: str) -> ScenarioFile:
    """Read a file; raises ScenarioError."""
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
    """Work out a scan for the pool as it is, and one after each event."""
    pool = scenario.pool
    definition = sizing.Pool(pool.minimum, pool.maximum, pool.zones, pool.sizing_strategy)
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
    """Print scans as the design does."""
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


def panels(found: Sequence[Scan]) -> list[Panel]:
    """Draw each group's bounds and size over the scans."""
    drawn = []
    for zone in range(len(found[0])):
        groups = [scan[zone] for scan in found]
        series: Mapping[str, list[int]] = {
            "min": [group.bounds.minimum for group in groups],
            "max": [group.bounds.maximum for group in groups],
            "assigned": [group.assigned for group in groups],
        }
        lines = [
            Line(name, [(float(at), float(value)) for at, value in enumerate(values)])
            for name, values in series.items()
        ]
        drawn.append(Panel(f"NG{zone}", lines))
    return drawn


def _resize(definition: sizing.Pool, assigned: list[int], bad: set[int], event: EventFile) -> None:
    """Change sizes as the server would: an increase gets what is left of the pool."""
    for zone, count in event.decrease.items():
        assigned[zone] = max(0, assigned[zone] - count)
    for zone, count in event.increase.items():
        most = _scan(definition, assigned, bad)[zone].bounds.maximum
        left = definition.maximum - sum(assigned)
        assigned[zone] += max(0, min(count, most - assigned[zone], left))


def _scan(definition: sizing.Pool, assigned: Sequence[int], bad: set[int]) -> Scan:
    groups = [sizing.Group(zone, size, zone in bad) for zone, size in enumerate(assigned)]
    sized = sizing.bounds(definition, groups)
    return [Group(*each) for each in zip(sized, assigned, (g.bad for g in groups), strict=True)]
