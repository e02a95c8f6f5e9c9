"""Decisions per second by the size of the landscape, compared with a naive algorithm."""

import gc
import statistics
import time
from random import Random
from typing import Any

import msgspec

from benchmarks import _baseline
from tests.support.landscape_objects import MULTI_ZONE, make_profile, make_seed, make_shoot
from webhook.api.kinds import KINDS
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

NAME = "scheduling"

SIZES = ((100, 1_000), (500, 1_000), (500, 10_000), (500, 100_000), (1_000, 100_000))
REGIONS = ("eu-west-1", "eu-central-1", "us-east-1", "us-west-2", "ap-south-1", "ap-northeast-1")
OPTIONS = Options(scheduling=SchedulingOptions(strategy="MinimalDistance"))
DECISIONS = 2_000
NAMES = 5_000


def run(rounds: int) -> dict[str, Any]:
    """Measure all sizes in turn."""
    sizes = {f"{seeds}x{shoots}": _measure(seeds, shoots, rounds) for seeds, shoots in SIZES}
    spent = {size: found["microseconds_per_decision"] for size, found in sizes.items()}
    growth = spent["500x100000"] / spent["500x1000"]
    return {
        "decisions": sizes,
        "figures": [
            _figure(
                "decisions per second, 500 seeds x 10,000 shoots",
                sizes["500x10000"]["decisions_per_second"],
                at_least=1_000,
            ),
            _figure("time per decision, 100,000 / 1,000 shoots", growth, at_most=1.2),
        ],
    }


def _figure(
    what: str, value: float, *, at_least: float | None = None, at_most: float | None = None
) -> dict[str, Any]:
    aim = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    met = value >= at_least if at_least is not None else value <= (at_most or 0)
    return {"what": what, "value": round(value, 2), "aim": aim, "met": met}


def make_landscape(seeds: int, shoots: int, chance: Random) -> tuple[ClusterState, list[Seed]]:
    slots = 3 * shoots // seeds + 100
    made = [
        make_seed(
            f"seed-{index:04}",
            region=REGIONS[index % len(REGIONS)],
            zones=("a", "b", "c") if index % 3 == 0 else ("a",),
            taints=[{"key": "private"}] if index % 10 == 0 else [],
            shoots=slots,
        )
        for index in range(seeds)
    ]
    placed = [
        make_shoot(
            f"shoot-{index:06}",
            region=chance.choice(REGIONS),
            seed=f"seed-{chance.randrange(seeds):04}",
            ha=MULTI_ZONE if index % 5 == 0 else None,
        )
        for index in range(shoots)
    ]
    memory = ClusterState([kind.model for kind in KINDS], options=OPTIONS)
    for obj in (*made, *placed, make_profile()):
        memory.store(type(obj)).put(obj.key, obj)
    gc.collect()
    gc.freeze()  # as the server does once its cache is filled
    return memory, made


def make_arrivals(count: int, chance: Random) -> list[Shoot]:
    return [
        make_shoot(
            f"new-{index:05}",
            region=chance.choice(REGIONS),
            ha=MULTI_ZONE if index % 5 == 0 else None,
            tolerations=[{"key": "private"}] if index % 7 == 0 else [],
            networking={
                "nodes": "10.250.0.0/16",
                "pods": f"100.{index % 64}.0.0/16",
                "services": "100.96.0.0/13",
            },
        )
        for index in range(count)
    ]


def _measure(seeds: int, shoots: int, rounds: int) -> dict[str, float]:
    """Place arrivals one after the other, each counted for the next; then naively, a few."""
    chance = Random(1)
    memory, made = make_landscape(seeds, shoots, chance)
    arrivals = make_arrivals(DECISIONS, chance)
    taken: list[float] = []
    landscape = SeedTable()
    now = Snapshot.of([]).taken_at
    place(arrivals[0], landscape, Snapshot(memory, now))
    for part in range(rounds):
        batch = arrivals[part::rounds]
        spent = 0.0
        for shoot in batch:
            snapshot = Snapshot(memory, now)
            began = time.process_time()
            verdict = place(shoot, landscape, snapshot)
            spent += time.process_time() - began
            spec = msgspec.structs.replace(shoot.spec, seed_name=verdict.seed or "")
            memory.store(Shoot).put(shoot.key, msgspec.structs.replace(shoot, spec=spec))
        taken.append(spent / len(batch))
    per_decision = statistics.median(taken)
    naive = _measure_naive(memory, made, arrivals[: max(2, 20_000 // shoots)])
    return {
        "decisions_per_second": round(1 / per_decision),
        "microseconds_per_decision": round(per_decision * 1e6, 1),
        "naive_decisions_per_second": round(1 / naive, 1),
        "times_naive": round(naive / per_decision, 1),
    }


def _measure_naive(memory: ClusterState, seeds: list[Seed], arrivals: list[Shoot]) -> float:
    shoots = memory.store(Shoot).list()
    began = time.process_time()
    for shoot in arrivals:
        _baseline.place(shoot, seeds, shoots)
    return (time.process_time() - began) / len(arrivals)
