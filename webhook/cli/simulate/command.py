"""`espalier simulate`: what an autoscaler's target would mean for seeds and waiting times."""

import argparse
import math
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from webhook.api.conditions import TRUE
from webhook.api.kinds import find_kind
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, Metadata, Object
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.cli.dev import landscape
from webhook.cli.dev.landscape import LandscapeError
from webhook.cli.pictures import png, svg
from webhook.cli.pictures.shapes import Picture
from webhook.cli.simulate import arrivals, chart, nodegroups
from webhook.cli.simulate.arrivals import ArrivalsError
from webhook.cli.simulate.chart import Line, Panel
from webhook.cli.simulate.engine import Engine, Record, Sample
from webhook.cli.simulate.nodegroups import ScenarioError
from webhook.domain.options import CapacityOptions, Options

NAME: Final = "simulate"
HELP: Final = "try an autoscaler on replayed or random arrivals of shoots, with plots"

_SKIPPED: Final = ("Namespace", "ConfigMap", "Lease", "Event", "Secret")
_MOST_ROWS: Final = 30
_MOST_STEPS: Final = 1_000_000


class SimulationError(Exception):
    """A landscape that there is nothing to simulate in."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add = parser.add_argument
    add(
        "scenario",
        nargs="*",
        metavar="nodegroups FILE",
        help="instead: the bounds of a worker pool, scan by scan, as the events of a file come",
    )
    add("--landscape", help="manifests with sets, SeedAutoscalers and CloudProfiles")
    add("--arrivals", help="a CSV file (day,action,shoot), or shoots a day")
    add("--days", type=float, default=30.0, help="how long to simulate (default 30)")
    add("--lifetime", type=float, default=30.0, help="days that random shoots live, on average")
    add(
        "--target",
        type=int,
        action="append",
        default=[],
        help="try this utilisation in percent instead of the manifests'; repeat to compare",
    )
    add("--seed-minutes", type=float, default=30.0, help="until a new seed is ready (default 30)")
    add("--step-minutes", type=float, default=5.0, help="how finely time passes (default 5)")
    add("--capacity", type=int, default=250, help="shoots a seed takes unless its template says")
    add("--random-seed", type=int, default=1, help="the same number gives the same arrivals")
    add(
        "-o",
        "--output",
        default="simulation.svg",
        help="where to draw, .svg or .png (simulation.svg)",
    )


def run(args: argparse.Namespace) -> int:
    """Simulate, print a table, draw; 2 if the input cannot be used."""
    try:
        return _run_node_groups(args) if args.scenario else _run_arrivals(args)
    except (LandscapeError, ArrivalsError, SimulationError, ScenarioError) as error:
        print(f"espalier simulate: {error}", file=sys.stderr)
        return 2


def _run_arrivals(args: argparse.Namespace) -> int:
    if not args.landscape or not args.arrivals:
        raise SimulationError("give --landscape and --arrivals, or nodegroups FILE")
    _require_sense(args)
    objects = [*_objects(args.landscape)]
    shapes = _shapes(objects)
    events = arrivals.read(args.arrivals, shapes, args.days, args.lifetime, args.random_seed)
    records = [
        (_name(target), _simulate(args, objects, events, target))
        for target in args.target or [None]
    ]
    tables = (_timeline(records), _table(records))
    return _show(args, tables, chart.draw(_panels(records)))


def _run_node_groups(args: argparse.Namespace) -> int:
    what, *files = args.scenario
    if what != nodegroups.NAME or len(files) != 1:
        raise SimulationError("write espalier simulate nodegroups FILE")
    found = nodegroups.scans(nodegroups.read(files[0]))
    return _show(args, (nodegroups.table(found),), chart.draw(nodegroups.panels(found), "scan"))


def _show(args: argparse.Namespace, tables: Sequence[Table], drawing: Picture) -> int:
    output = Path(args.output)
    is_png = output.suffix.lower() == ".png"
    try:
        output.write_bytes(png.write(drawing) if is_png else svg.write(drawing).encode())
    except OSError as error:
        raise SimulationError(f"--output {args.output}: {error.strerror}") from error
    # Programs get whole lines, people what fits their terminal.
    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in tables:
        console.print(table)
    print(f"drawn to {args.output}")
    return 0


def _require_sense(args: argparse.Namespace) -> None:
    for name in ("days", "lifetime", "seed_minutes", "step_minutes", "capacity"):
        # Not "<= 0", which lets nan pass.
        if not 0 < getattr(args, name) < math.inf:
            raise SimulationError(f"--{name.replace('_', '-')} must be more than 0")
    if args.days * 24 * 60 / args.step_minutes > _MOST_STEPS:
        raise SimulationError("--days and --step-minutes make too many steps: take longer ones")
    for target in args.target:
        if not 1 <= target <= 100:
            raise SimulationError(f"--target {target} must be 1 to 100 percent")


def _objects(choice: str) -> Sequence[Object]:
    """Decode what the simulation reads; shoots that are there already stay where they are."""
    found: list[Object] = []
    for number, draft in enumerate(landscape.read(choice)):
        kind = find_kind(draft["apiVersion"], draft["kind"])
        if kind is None or kind.name in _SKIPPED:
            continue
        metadata = {"uid": f"{kind.name}-{number}", **(draft.get("metadata") or {})}
        try:
            found.append(msgspec.convert({**_ready(draft), "metadata": metadata}, kind.model))
        except msgspec.ValidationError as error:
            name = metadata.get("name")
            raise SimulationError(f"{kind.name} {name} cannot be read: {error}") from error
    if not any(isinstance(each, SeedAutoscaler) for each in found):
        raise SimulationError("the landscape has no SeedAutoscaler: add one, that is what is tried")
    return found


def _ready(draft: Draft) -> Draft:
    """Take seeds of the landscape for ready: manifests have no status."""
    if draft["kind"] != "Seed" or draft.get("status"):
        return draft
    told = [{"type": name, "status": TRUE} for name in ("GardenletReady", "BackupBucketsReady")]
    operation = {"type": "Reconcile", "state": "Succeeded"}
    return {**draft, "status": {"conditions": told, "lastOperation": operation}}


def _shapes(objects: Sequence[Object]) -> Sequence[Shoot]:
    """Find what arriving shoots look like: as those of the landscape, else as sets could host."""
    known = [each for each in objects if isinstance(each, Shoot)]
    if known:
        return known
    sets = [each for each in objects if isinstance(each, ManagedSeedSet)]
    shapes = []
    for owner in sets:
        template = owner.spec.shoot_template.spec
        spec = msgspec.structs.replace(
            template, seed_name="", tolerations=(), networking=None, dns=None
        )
        shapes.append(Shoot(metadata=Metadata(namespace="garden-simulated"), spec=spec))
    if not shapes:
        raise SimulationError("the landscape has neither shoots nor sets to model arrivals on")
    return shapes


def _simulate(
    args: argparse.Namespace, objects: Sequence[Object], events: Any, target: int | None
) -> Record:
    options = Options(capacity=CapacityOptions(default=args.capacity))
    aimed = [_aim(each, target) if isinstance(each, SeedAutoscaler) else each for each in objects]
    engine = Engine(
        aimed,
        options,
        timedelta(minutes=args.step_minutes),
        timedelta(minutes=args.seed_minutes),
    )
    return engine.run(events, args.days)


def _aim(autoscaler: SeedAutoscaler, target: int | None) -> SeedAutoscaler:
    if target is None:
        return autoscaler
    wanted = {"type": "Utilization", "averageUtilization": target}
    metric = {"type": "Resource", "resource": {"name": "shoots", "target": wanted}}
    raw = msgspec.to_builtins(autoscaler)
    raw["spec"]["metrics"] = [metric]
    return msgspec.convert(raw, SeedAutoscaler)


def _name(target: int | None) -> str:
    return "as written" if target is None else f"target {target}%"


def _panels(records: Sequence[tuple[str, Record]]) -> Sequence[Panel]:
    def lines(field: str) -> Sequence[Line]:
        return [
            Line(name, [(each.day, float(getattr(each, field))) for each in record.samples])
            for name, record in records
        ]

    return [
        Panel("seeds", lines("seeds")),
        Panel("utilisation, percent", lines("utilisation")),
        Panel("shoots waiting", lines("waiting")),
        Panel("waiting time, minutes", lines("longest")),
    ]


def _timeline(records: Sequence[tuple[str, Record]]) -> Table:
    """Tell seeds, utilisation and waiting time over time, in no more lines than a screen has."""
    table = Table(title="over time: seeds, utilisation, longest wait")
    table.add_column("day", justify="right")
    for name, _ in records:
        table.add_column(name, justify="right")
    count = len(records[0][1].samples) if records else 0
    size = max(1, -(-count // _MOST_ROWS))
    for start in range(0, count, size):
        parts = [record.samples[start : start + size] for _, record in records]
        table.add_row(f"{parts[0][0].day:.1f}", *(_moment(part) for part in parts))
    return table


def _moment(part: Sequence[Sample]) -> str:
    seeds = max(each.seeds for each in part)
    share = sum(each.utilisation for each in part) / len(part)
    longest = max(each.longest for each in part)
    return f"{seeds}, {share:.0f}%, {longest:.0f} min"


def _table(records: Sequence[tuple[str, Record]]) -> Table:
    table = Table(title="what the autoscaler would do")
    columns = ("", "shoots", "seeds mean", "seeds most", "utilisation", "scalings")
    for column in (*columns, "wait p50", "wait p95", "wait most", "still waiting"):
        table.add_column(column, justify="right")
    for name, record in records:
        table.add_row(name, *_row(record))
    return table


def _row(record: Record) -> Sequence[str]:
    samples = record.samples
    count = max(1, len(samples))
    waits = sorted(record.waits)
    return (
        str(record.created),
        f"{sum(each.seeds for each in samples) / count:.1f}",
        str(max((each.seeds for each in samples), default=0)),
        f"{sum(each.utilisation for each in samples) / count:.0f}%",
        str(record.scalings),
        *(f"{_quantile(waits, share):.0f} min" for share in (0.5, 0.95, 1.0)),
        str(samples[-1].waiting if samples else 0),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
