"""Pending shoots on a real Gardener until they are bound: ours and gardener-scheduler.

Both are running and are resumed in turn, on the same landscape, when all pending shoots have been
created. Ours runs as on large landscapes: one process admits, another places. gardener-scheduler
has two workers and no limit on its requests, so that its work is measured and not a throttle.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks._gardener_landscape import Landscape, count_calls
from tests.support.garden_cluster import ACCOUNT, GROUPS, GardenCluster
from webhook.dev.planes.binaries import missing
from webhook.dev.planes.components import COMPONENTS
from webhook.dev.planes.gardener import Gardener
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.process import Process
from webhook.dev.server import EspalierProcess

NAME = "binding"
AS_FAST = 3.0
MOST_ROUNDS = 3
WORKERS = 2
SETTLE_SECONDS = 3.0
"""How long Events, ledgers and deletions take after the last placement."""
WAKE_SECONDS = 6.0
"""How long a resumed process needs to catch up, with new lists if needed."""

LEASE = ("--lease-duration=900", "--renew-deadline=600", "--retry-period=2")
"""Frozen for a while, ours still leads."""


class Sizes(NamedTuple):
    """The size of the landscape."""

    seeds: int = 500
    placed: int = 5_000
    arrivals: int = 500


class Contender(NamedTuple):
    """A scheduler that places shoots with this `schedulerName`."""

    name: str
    scheduler: str
    process: Process


class Turn(NamedTuple):
    """What one scheduler needed for all arrivals."""

    seconds: float
    calls: "Counter[str]"


def run(rounds: int) -> dict[str, Any]:
    """Measure both in turn."""
    needed = ("etcd", "kubernetes", "gardener")
    if any(missing(part) for part in COMPONENTS if part.name in needed):
        return {"not_run": "a real Gardener is not built: run `make real`", "figures": []}
    return asyncio.run(measure(Sizes(), min(rounds, MOST_ROUNDS)))


async def measure(sizes: Sizes, rounds: int) -> dict[str, Any]:
    """Create the landscape, resume the schedulers in turn and compare them."""
    with tempfile.TemporaryDirectory() as folder:
        plane = Gardener(Path(folder), durable=False)
        plane.gardener_scheduler.workers = WORKERS
        async with plane:
            # Without gardenlets, seeds stay ready only if no controller reads their leases.
            await plane.gardener_controller_manager.stop()
            async with Landscape(plane) as landscape:
                await landscape.fill(sizes.seeds, sizes.placed)
                admission, ours = await _start(plane, Path(folder))
                contenders = (
                    Contender("ours", "espalier", ours),
                    Contender("gardener-scheduler", "default-scheduler", plane.gardener_scheduler),
                )
                try:
                    turns = await _take_turns(landscape, contenders, sizes.arrivals, rounds)
                finally:
                    await ours.stop()
                    await admission.stop()
    return _report(sizes, turns)


async def _start(plane: Gardener, folder: Path) -> tuple[EspalierProcess, EspalierProcess]:
    """Start Espalier under its account; the process that places also manages the webhooks."""
    median_ratio = GardenCluster(plane, folder / "beside")
    await median_ratio.install()
    account = await asyncio.to_thread(plane.apiserver.access, ACCOUNT, GROUPS)
    kubeconfig = await asyncio.to_thread(account.write_kubeconfig, folder / "account")
    ports = (free_port(), free_port()), (free_port(), free_port())
    roles = "--roles=admission,extender"
    admission = EspalierProcess(folder / "admission", kubeconfig, ports[0], roles)
    advertised = f"--advertise-url={admission.url}"
    placing = EspalierProcess(
        folder / "placing", kubeconfig, ports[1], "--roles=controllers", advertised, *LEASE
    )
    await admission.start()
    await placing.start()
    for hooks in ("mutating", "validating"):
        hook = f"{hooks}webhookconfiguration/espalier"
        await plane.kubectl("wait", "--for=create", "--timeout=60s", hook)
    return admission, placing


async def _take_turns(
    landscape: Landscape, contenders: Iterable[Contender], arrivals: int, rounds: int
) -> dict[str, list[Turn]]:
    contenders = tuple(contenders)
    await asyncio.sleep(SETTLE_SECONDS)
    for contender in contenders:
        contender.process.pause()
    turns: dict[str, list[Turn]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            turn = await _take_turn(landscape, contender, arrivals)
            _print_progress(
                f"round {number + 1} of {rounds}, {contender.name}:"
                f" {arrivals} bound in {turn.seconds:.1f} s,"
                f" {sum(turn.calls.values()) / arrivals:.1f} API calls each"
            )
            turns[contender.name].append(turn)
    return turns


async def _take_turn(landscape: Landscape, contender: Contender, arrivals: int) -> Turn:
    process = contender.process
    # What happened while it was paused is not its work.
    process.resume()
    await asyncio.sleep(WAKE_SECONDS)
    process.pause()
    async with landscape.arrivals(arrivals, contender.scheduler) as bound:
        before = await count_calls(landscape.plane)
        began = time.monotonic()
        process.resume()
        await bound
        seconds = time.monotonic() - began
        await asyncio.sleep(SETTLE_SECONDS)
        calls = await count_calls(landscape.plane) - before
    await asyncio.sleep(SETTLE_SECONDS)
    process.pause()
    return Turn(seconds, calls)


def _report(sizes: Sizes, turns: dict[str, list[Turn]]) -> dict[str, Any]:
    ours, theirs = turns["ours"], turns["gardener-scheduler"]
    ratio = median(b.seconds / a.seconds for a, b in zip(ours, theirs, strict=True))
    calls = {name: _calls_each(found, sizes.arrivals) for name, found in turns.items()}
    each = {name: round(sum(found.values()), 2) for name, found in calls.items()}
    return {
        "sizes": sizes._asdict(),
        "seconds": {name: [round(t.seconds, 2) for t in found] for name, found in turns.items()},
        "api_calls_per_placement": calls,
        "figures": [
            {
                "what": f"{sizes.arrivals} shoots to bound beside gardener-scheduler,"
                f" {sizes.seeds} seeds, {sizes.placed} placed shoots",
                "value": round(ratio, 2),
                "aim": f"at least {AS_FAST:g}",
                "met": ratio >= AS_FAST,
            },
            {
                "what": f"API calls a placement (gardener-scheduler: {each['gardener-scheduler']})",
                "value": each["ours"],
                "aim": "reported, no aim",
                "met": True,
            },
        ],
    }


def _calls_each(turns: list[Turn], arrivals: int) -> dict[str, float]:
    """Count calls a placement by verb and resource; rare ones are noise."""
    total: Counter[str] = sum((turn.calls for turn in turns), Counter())
    each = {name: round(count / arrivals / len(turns), 2) for name, count in total.most_common()}
    return {name: value for name, value in each.items() if value >= 0.02}


def _print_progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Run with other sizes, without storing the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.binding", description=__doc__)
    for name, value in Sizes()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = vars(parser.parse_args())
    rounds = arguments.pop("rounds")
    print(json.dumps(asyncio.run(measure(Sizes(**arguments), rounds)), indent=2))


if __name__ == "__main__":
    main()
