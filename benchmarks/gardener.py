"""Ours and Gardener's own code, one core each: decisions, and the validation of worker pools."""

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks import _measurement
from benchmarks._measurement import Found, Load
from tests.support.landscape_objects import read
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.kinds import KINDS
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.planes.binaries import find
from webhook.dev.planes.ports import free_port
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import Draft, Object
from webhook.scheduling import profiles
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

NAME = "gardener"
CORE = "core.gardener.cloud/v1beta1"
SIZES = ((500, 10_000, 250.0), (500, 100_000, 2_000.0))
REGIONS = ("eu-west-1", "eu-central-1", "us-east-1", "us-west-2", "ap-south-1", "ap-northeast-1")
ASKS = 2_000
PEER_SECONDS = 5.0
LOAD = Load()
AIM_WEBHOOK, BETTER = 2.0, 3.0


def run(rounds: int) -> dict[str, Any]:
    """Measure ours and Gardener's in turn."""
    peer = find("peer-gardener")
    if peer is None:
        return {"not_run": "Gardener's own code is not built: run `make real`", "figures": []}
    decisions = [asyncio.run(_decisions(peer, rounds, *size)) for size in SIZES]
    validate = asyncio.run(_validate(peer, rounds))
    figures = [found["figure"] for found in decisions] + [validate["figure"]]
    return {"decisions": decisions, "validate": validate, "figures": figures}


async def _decisions(
    peer: Path, rounds: int, seeds: int, shoots: int, aim: float
) -> dict[str, Any]:
    """Decide in one landscape, ours and theirs in turn, both in real time."""
    theirs = "DetermineSeed"
    landscape = _landscape(seeds, shoots)
    ours, document = _Ours(landscape), msgspec.json.encode(landscape)

    async def measure(server: str) -> Found:
        rate = await _decide(peer, document) if server == theirs else ours.decide()
        return {"rate": round(rate, 2)}

    measured = await _measurement.in_turn(rounds, ("ours", theirs), measure)
    ratio = _measurement.median_ratio(measured, "ours", theirs, "rate")
    return {
        "seeds": seeds,
        "shoots": shoots,
        "measured": measured,
        "figure": {
            "what": f"decisions beside DetermineSeed, {seeds} seeds x {shoots} shoots",
            "value": round(ratio, 1),
            "aim": f"at least {aim:g}",
            "met": ratio >= aim,
        },
    }


class _Ours:
    """A landscape in memory, and shoots that need seeds in it."""

    def __init__(self, landscape: Draft) -> None:
        scheduling = SchedulingOptions(profile="gardener", strategy="MinimalDistance")
        options = Options(beside_gardener=True, scheduling=scheduling)
        self._memory = ClusterState([kind.model for kind in KINDS], options=options)
        models: dict[str, type[Object]] = {
            "seeds": Seed, "shoots": Shoot, "cloudProfiles": CloudProfile, "projects": Project,
        }  # fmt: skip
        for name, model in models.items():
            for raw in landscape[name]:
                found = read(model, raw)
                self._memory.store(model).put(found.key, found)
        self._asks = [read(Shoot, raw) for raw in landscape["asks"]]
        gc.collect()
        gc.freeze()

    def decide(self) -> float:
        """Place arrivals one after the other with profile `gardener`, each counted for the next."""
        seeds, now = SeedTable(), Snapshot.of([]).taken_at
        profile, shoots = profiles.PROFILES["gardener"], self._memory.store(Shoot)
        place(self._asks[0], seeds, Snapshot(self._memory, now), profile)
        spent = 0.0
        for shoot in self._asks:
            snapshot = Snapshot(self._memory, now)
            began = time.perf_counter()
            verdict = place(shoot, seeds, snapshot, profile)
            spent += time.perf_counter() - began
            spec = msgspec.structs.replace(shoot.spec, seed_name=verdict.seed or "")
            shoots.put(shoot.key, msgspec.structs.replace(shoot, spec=spec))
        for shoot in self._asks:
            shoots.drop(shoot.key)
        return len(self._asks) / spent


async def _decide(peer: Path, landscape: bytes) -> float:
    """Run Gardener's own code for some seconds."""
    process = await asyncio.create_subprocess_exec(
        *(str(peer), "bench", str(PEER_SECONDS)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"GOMAXPROCS": "1"},
    )
    output, _ = await process.communicate(landscape)
    return float(output)


def _landscape(seeds: int, shoots: int) -> Draft:
    chance = Random(1)
    slots = 3 * shoots // seeds + 100
    return {
        "strategy": "MinimalDistance",
        "seeds": [_seed(index, slots) for index in range(seeds)],
        "shoots": [
            _shoot(f"shoot-{index:06}", chance, f"seed-{chance.randrange(seeds):04}")
            for index in range(shoots)
        ],
        "cloudProfiles": [
            {"metadata": {"name": "aws"}, "spec": {"type": "aws", "regions": list(_regions())}}
        ],
        "projects": [{"metadata": {"name": "dev"}, "spec": {"namespace": "garden-dev"}}],
        "configMaps": [],
        "asks": [_shoot(f"ask-{index:05}", chance) for index in range(ASKS)],
    }


def _regions() -> Iterator[Draft]:
    return ({"name": region} for region in REGIONS)


def _seed(index: int, slots: int) -> Draft:
    stamp = "2026-01-01T00:00:00Z"
    times = {"lastTransitionTime": stamp, "lastUpdateTime": stamp, "reason": "x", "message": "x"}
    operation = {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "x"}
    return {
        "apiVersion": CORE,
        "kind": "Seed",
        "metadata": {"name": f"seed-{index:04}"},
        "spec": {
            "provider": {
                "type": "aws",
                "region": REGIONS[index % len(REGIONS)],
                "zones": ["a", "b", "c"] if index % 3 == 0 else ["a"],
            },
            "networks": {
                "nodes": "10.240.0.0/16",
                "pods": "10.241.0.0/16",
                "services": "10.242.0.0/16",
                "ipFamilies": ["IPv4"],
            },
            "settings": {"scheduling": {"visible": True}},
            "dns": {},
            "taints": [{"key": "private"}] if index % 10 == 0 else [],
        },
        "status": {
            "conditions": [{"type": "GardenletReady", "status": "True", **times}],
            "lastOperation": {**operation, "lastUpdateTime": stamp},
            "allocatable": {"shoots": str(slots)},
        },
    }


def _shoot(name: str, chance: Random, seed: str = "") -> Draft:
    pools = [
        {
            "name": f"pool-{number}",
            "minimum": 1,
            "maximum": 6,
            "maxSurge": 1,
            "maxUnavailable": 0,
            "machine": {
                "type": "m5.large",
                "image": {"name": "gardenlinux", "version": "1592.4.0"},
                "architecture": "amd64",
            },
            "volume": {"type": "gp3", "size": "50Gi"},
            "zones": ["a", "b", "c"],
            "labels": {f"label-{index}": "x" * 20 for index in range(4)},
            "systemComponents": {"allow": True},
        }
        for number in range(3)
    ]
    spec: Draft = {
        "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
        "region": chance.choice(REGIONS),
        "purpose": "production",
        "schedulerName": "espalier",
        "kubernetes": {"version": "1.36.0"},
        "networking": {
            "type": "calico",
            "nodes": "10.250.0.0/16",
            "pods": "100.96.0.0/11",
            "services": "100.64.0.0/13",
            "ipFamilies": ["IPv4"],
        },
        "provider": {"type": "aws", "workers": pools},
    }
    metadata = {"name": name, "namespace": "garden-dev", "uid": name}
    placed = {"seedName": seed} if seed else {}
    spec |= placed
    return {
        "apiVersion": CORE, "kind": "Shoot", "metadata": metadata, "spec": spec, "status": placed,
    }  # fmt: skip


async def _validate(peer: Path, rounds: int) -> dict[str, Any]:
    """Compare all our policies with a controller-runtime webhook that only checks worker pools."""
    theirs = "controller-runtime"

    def measure(server: str) -> Awaitable[Found]:
        return _serve_theirs(peer) if server == theirs else _serve_ours()

    measured = await _measurement.in_turn(rounds, ("ours", theirs), measure)
    ratio = _measurement.median_ratio(measured, "ours", theirs, "rate")
    return {
        "measured": measured,
        "figure": {
            "what": "/validate with every policy beside a controller-runtime webhook on Shoots",
            "value": round(ratio, 2),
            "aim": f"at least {AIM_WEBHOOK:g}, better {BETTER:g}",
            "met": ratio >= AIM_WEBHOOK,
        },
    }


async def _serve_ours() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return await _measurement.measure(_measurement.server_command("full", folder), folder, LOAD)


async def _serve_theirs(peer: Path) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        _measurement.certify(Path(folder))
        port = str(free_port())
        command = (str(peer), "webhook", folder, port)
        return await _measurement.measure(command, folder, LOAD, port)
