"""Shoots that wait on a real Gardener until they are bound: ours beside gardener-scheduler.

Both stand ready and are woken in turn, on the same landscape, when all that wait have been
created. Ours runs as on big landscapes: one process admits, another places. gardener-scheduler has
two workers and no limit on its requests: its work is measured, and no throttle.
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

from benchmarks._gardens import Landscape, count_calls
from tests.gardening import ACCOUNT, GROUPS, Beside
from webhook.cli.dev.server import Server
from webhook.planes.binaries import missing
from webhook.planes.gardener import Gardener
from webhook.planes.parts import PARTS
from webhook.planes.ports import free_port
from webhook.planes.process import Process

NAME = "binding"
AS_FAST = 3.0
MOST_ROUNDS = 3
WORKERS = 2
SETTLE_SECONDS = 3.0
"""How long events, ledgers and deletions come after the last placement."""
WAKE_SECONDS = 6.0
"""How long who slept needs to see what happened meanwhile, listing all anew if it must."""

LEASE = ("--lease-duration=900", "--renew-deadline=600", "--retry-period=2")
"""Frozen for a while, ours still leads."""


class Sizes(NamedTuple):
    """How much there is."""

    seeds: int = 500
    placed: int = 5_000
    arrivals: int = 500


class Contender(NamedTuple):
    """Who places shoots with this `schedulerName`."""

    name: str
    scheduler: str
    process: Process


class Turn(NamedTuple):
    """What one contender needed for all arrivals."""

    seconds: float
    calls: "Counter[str]"


def run(rounds: int) -> dict[str, Any]:
    """Measure both in turn."""
    needed = ("etcd", "kubernetes", "gardener")
    if any(missing(part) for part in PARTS if part.name in needed):
        return {"not_run": "a real Gardener is not built: run `make real`", "figures": []}
    return asyncio.run(measure(Sizes(), min(rounds, MOST_ROUNDS)))


async def measure(sizes: Sizes, rounds: int) -> dict[str, Any]:
    """Make the landscape, wake the contenders by turns and compare them."""
    with tempfile.TemporaryDirectory() as folder:
        plane = Gardener(Path(folder), durable=False)
        plane.gardener_scheduler.workers = WORKERS
        async with plane:
            # Nobody plays gardenlets: seeds stay ready only where nobody looks for their leases.
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


async def _start(plane: Gardener, folder: Path) -> tuple[Server, Server]:
    """Start Espalier under its account; the process that places keeps the webhooks, too."""
    beside = Beside(plane, folder / "beside")
    await beside.install()
    account = await asyncio.to_thread(plane.apiserver.access, ACCOUNT, GROUPS)
    kubeconfig = await asyncio.to_thread(account.write_kubeconfig, folder / "account")
    ports = (free_port(), free_port()), (free_port(), free_port())
    roles = "--roles=admission,extender"
    admission = Server(folder / "admission", kubeconfig, ports[0], roles)
    advertised = f"--advertise-url={admission.url}"
    placing = Server(
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
            _say(
                f"round {number + 1} of {rounds}, {contender.name}:"
                f" {arrivals} bound in {turn.seconds:.1f} s,"
                f" {sum(turn.calls.values()) / arrivals:.1f} API calls each"
            )
            turns[contender.name].append(turn)
    return turns


async def _take_turn(landscape: Landscape, contender: Contender, arrivals: int) -> Turn:
    process = contender.process
    # What happened while it slept is not its work.
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
                "aim": "told, no aim",
                "met": True,
            },
        ],
    }


def _calls_each(turns: list[Turn], arrivals: int) -> dict[str, float]:
    """Count calls a placement by what was called; what hardly ever was is noise."""
    total: Counter[str] = sum((turn.calls for turn in turns), Counter())
    each = {name: round(count / arrivals / len(turns), 2) for name, count in total.most_common()}
    return {name: value for name, value in each.items() if value >= 0.02}


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Try it with other sizes; nothing is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.binding", description=__doc__)
    for name, value in Sizes()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = vars(parser.parse_args())
    rounds = arguments.pop("rounds")
    print(json.dumps(asyncio.run(measure(Sizes(**arguments), rounds)), indent=2))


if __name__ == "__main__":
    main()
