"""`espalier simulate`: how an autoscaler's target affects seeds and waiting times."""

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

from webhook.api.kinds import find_kind
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.cli import manifestfiles, svg
from webhook.cli.manifestfiles import ManifestError
from webhook.cli.simulate import arrivals, chart, nodegroups
from webhook.cli.simulate.arrivals import ArrivalsError
from webhook.cli.simulate.chart import Chart, DataSeries
from webhook.cli.simulate.engine import Engine, Sample, SimulationResult
from webhook.cli.simulate.nodegroups import ScenarioError
from webhook.cli.svg import Picture
from webhook.controllers.seedautoscaler import demand
from webhook.domain.options import CapacityOptions, Options
from webhook.kube.conditions import TRUE
from webhook.kube.meta import Draft, Metadata, Object

_SKIPPED: Final = ("Namespace", "ConfigMap", "Lease", "Event", "Secret")
_MAX_ROWS: Final = 30
_MAX_STEPS: Final = 1_000_000


class SimulationError(Exception):
    """Arguments or a landscape that cannot be simulated; the message states why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    add = parser.add_argument
    add(
        "scenario",
        nargs="*",
        metavar="nodegroups FILE",
        help="instead: the bounds of a worker pool after each event of a scenario file",
    )
    add("--landscape", help="manifests with sets, SeedAutoscalers and CloudProfiles")
    add("--arrivals", help="a CSV file (day,action,shoot), or the number of shoots created a day")
    add("--days", type=float, default=30.0, help="how long to simulate (default 30)")
    add(
        "--lifetime",
        type=float,
        default=30.0,
        help="mean lifetime of random shoots in days (default 30)",
    )
    add(
        "--target",
        type=int,
        action="append",
        default=[],
        help="target utilisation in percent instead of that of the manifests; repeatable",
    )
    add(
        "--seed-minutes",
        type=float,
        default=30.0,
        help="time until a new seed is ready (default 30)",
    )
    add("--step-minutes", type=float, default=5.0, help="length of a simulation step (default 5)")
    add(
        "--capacity",
        type=int,
        default=250,
        help="shoots of a seed whose template sets no capacity (default 250)",
    )
    add("--random-seed", type=int, default=1, help="seed of the random arrivals (default 1)")
    add(
        "-o",
        "--output",
        default="simulation.svg",
        help="the SVG file to write (default %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Simulate, print tables and write the picture; 2 if the input cannot be used."""
    try:
        return _run_node_groups(args) if args.scenario else _run_arrivals(args)
    except (ManifestError, ArrivalsError, SimulationError, ScenarioError) as error:
        print(f"espalier simulate: {error}", file=sys.stderr)
        return 2


def _run_arrivals(args: argparse.Namespace) -> int:
    if not args.landscape or not args.arrivals:
        raise SimulationError("needs --landscape and --arrivals, or nodegroups FILE")
    _validate(args)
    objects = [*_objects(args.landscape)]
    shapes = _shapes(objects)
    events = arrivals.read(args.arrivals, shapes, args.days, args.lifetime, args.random_seed)
    notes, acting = _acting(objects)
    records = [
        (_name(target), _simulate(args, acting, events, target)) for target in args.target or [None]
    ]
    tables = (_timeline(records), _table(records))
    return _show(args, tables, chart.draw(_charts(records)), notes)


def _run_node_groups(args: argparse.Namespace) -> int:
    name, *files = args.scenario
    if name != nodegroups.NAME or len(files) != 1:
        raise SimulationError("usage: espalier simulate nodegroups FILE")
    found = nodegroups.scans(nodegroups.read(files[0]))
    return _show(args, (nodegroups.table(found),), chart.draw(nodegroups.charts(found), "scan"))


def _show(
    args: argparse.Namespace,
    tables: Sequence[Table],
    picture: Picture,
    notes: Sequence[str] = (),
) -> int:
    output = Path(args.output)
    if output.suffix.lower() == ".png":
        raise SimulationError(f"--output {args.output}: only SVG is written, name an .svg file")
    try:
        output.write_text(svg.write(picture), encoding="utf-8")
    except OSError as error:
        raise SimulationError(f"--output {args.output}: {error.strerror}") from error
    # Output to a program is not wrapped to the width of a terminal.
    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in tables:
        console.print(table)
    for note in notes:
        print(note)
    print(f"wrote {args.output}")
    return 0


def _validate(args: argparse.Namespace) -> None:
    for name in ("days", "lifetime", "seed_minutes", "step_minutes", "capacity"):
        # A comparison with nan is false, so `<= 0` would accept it.
        if not 0 < getattr(args, name) < math.inf:
            raise SimulationError(f"--{name.replace('_', '-')} must be more than 0")
    if args.days * 24 * 60 / args.step_minutes > _MAX_STEPS:
        raise SimulationError(
            "--days and --step-minutes make too many steps: use a larger --step-minutes"
        )
    for target in args.target:
        if not 1 <= target <= 100:
            raise SimulationError(f"--target {target} must be 1 to 100 percent")


def _objects(choice: str) -> Sequence[Object]:
    """Decode the objects of the landscape; its shoots keep their seeds."""
    found: list[Object] = []
    for number, draft in enumerate(manifestfiles.read_objects(Path(choice))):
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
        raise SimulationError("the landscape has no SeedAutoscaler: add the one to try")
    return found


def _ready(draft: Draft) -> Draft:
    """Add a ready status to a seed without one: manifests have no status."""
    if draft["kind"] != "Seed" or draft.get("status"):
        return draft
    conditions = [
        {"type": name, "status": TRUE} for name in ("GardenletReady", "BackupBucketsReady")
    ]
    operation = {"type": "Reconcile", "state": "Succeeded"}
    return {**draft, "status": {"conditions": conditions, "lastOperation": operation}}


def _shapes(objects: Sequence[Object]) -> Sequence[Shoot]:
    """Return the Shoots to model arrivals on: those of the landscape, else the sets' templates."""
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
) -> SimulationResult:
    options = Options(capacity=CapacityOptions(default=args.capacity))
    adapted = [
        _with_target(each, target) if isinstance(each, SeedAutoscaler) else each for each in objects
    ]
    engine = Engine(
        adapted,
        options,
        timedelta(minutes=args.step_minutes),
        timedelta(minutes=args.seed_minutes),
    )
    return engine.run(events, args.days)


def _acting(objects: Sequence[Object]) -> tuple[Sequence[str], Sequence[Object]]:
    """Have every autoscaler act, as those do that only recommend once they are switched on."""
    notes: list[str] = []
    acting: list[Object] = []
    for each in objects:
        if isinstance(each, SeedAutoscaler) and each.spec.mode != demand.AUTO:
            notes.append(
                f"note: SeedAutoscaler {each.key} has mode {each.spec.mode}; it is simulated as"
                f" with {demand.AUTO}"
            )
            spec = msgspec.structs.replace(each.spec, mode=demand.AUTO)
            acting.append(msgspec.structs.replace(each, spec=spec))
        else:
            acting.append(each)
    return notes, acting


def _with_target(autoscaler: SeedAutoscaler, target: int | None) -> SeedAutoscaler:
    if target is None:
        return autoscaler
    wanted = {"type": "Utilization", "averageUtilization": target}
    metric = {"type": "Resource", "resource": {"name": "shoots", "target": wanted}}
    raw = msgspec.to_builtins(autoscaler)
    raw["spec"]["metrics"] = [metric]
    return msgspec.convert(raw, SeedAutoscaler)


def _name(target: int | None) -> str:
    return "as written" if target is None else f"target {target}%"


def _charts(records: Sequence[tuple[str, SimulationResult]]) -> Sequence[Chart]:
    def series(field: str) -> Sequence[DataSeries]:
        return [
            DataSeries(name, [(each.day, float(getattr(each, field))) for each in record.samples])
            for name, record in records
        ]

    return [
        Chart("seeds", series("seeds")),
        Chart("utilisation, percent", series("utilisation")),
        Chart("shoots waiting", series("waiting")),
        Chart("waiting time, minutes", series("longest")),
    ]


def _timeline(records: Sequence[tuple[str, SimulationResult]]) -> Table:
    """List seeds, utilisation and longest wait over time, in at most `_MAX_ROWS` rows."""
    table = Table(title="over time: seeds, utilisation, longest wait")
    table.add_column("day", justify="right")
    for name, _ in records:
        table.add_column(name, justify="right")
    count = len(records[0][1].samples) if records else 0
    size = max(1, -(-count // _MAX_ROWS))
    for start in range(0, count, size):
        parts = [record.samples[start : start + size] for _, record in records]
        table.add_row(f"{parts[0][0].day:.1f}", *(_summary(part) for part in parts))
    return table


def _summary(part: Sequence[Sample]) -> str:
    seeds = max(each.seeds for each in part)
    share = sum(each.utilisation for each in part) / len(part)
    longest = max(each.longest for each in part)
    return f"{seeds}, {share:.0f}%, {longest:.0f} min"


def _table(records: Sequence[tuple[str, SimulationResult]]) -> Table:
    table = Table(title="what the autoscaler would do")
    columns = ("", "shoots", "seeds mean", "seeds most", "utilisation", "scalings")
    for column in (*columns, "wait p50", "wait p95", "wait most", "still waiting"):
        table.add_column(column, justify="right")
    for name, record in records:
        table.add_row(name, *_row(record))
    return table


def _row(record: SimulationResult) -> Sequence[str]:
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
