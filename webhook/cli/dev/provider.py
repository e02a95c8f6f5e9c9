"""The local provider: controllers of its own that play what a laptop lacks.

It is a stranger to the server beside it: its own client, its own cache, its own writes.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from webhook.api import names
from webhook.api.core import Lease, Pod
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Object, ObjectKey
from webhook.api.registrations import ControllerInstallation
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_time
from webhook.cli.dev import authorship
from webhook.cli.dev.clusters import Clusters, Registration
from webhook.cli.dev.installer import plan_installation
from webhook.cli.dev.machines import MACHINES
from webhook.cli.dev.manager import MANAGER
from webhook.cli.dev.registrar import plan_managed_seed
from webhook.cli.dev.seeds import plan_seed
from webhook.cli.dev.shoots import plan_shoot
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.clock import Clock
from webhook.runtime.controller import Runner
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller, Watch
from webhook.runtime.writer import Writer
from webhook.state.indexes import (
    MANAGED_SEEDS_BY_NAME,
    MANAGED_SEEDS_BY_SHOOT,
    SHOOTS_BY_SEED,
)
from webhook.state.snapshot import Snapshot

_POD: Final = kind_of_model(Pod)


def plan_pod(pod: Pod, snapshot: Snapshot) -> Plan:
    """Let a pod run as soon as it has a node; those that stand for shoots never run."""
    if not pod.spec.node_name or pod.is_deleting or pod.status.phase not in ("", "Pending"):
        return NOTHING
    if names.SHOOT_ANNOTATION in pod.metadata.annotations:
        return NOTHING
    stamp = format_time(snapshot.taken_at)
    ready = [
        {"type": name, "status": "True", "lastTransitionTime": stamp}
        for name in ("Initialized", "ContainersReady", "Ready")
    ]
    status = {"phase": "Running", "startTime": stamp, "conditions": ready}
    return Plan((Patch(_POD, pod.key, {"status": status}, pod.uid, subresource="status"),))


def _shoots_of_seed(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Wake a seed's shoots when what is simulated on it changes, not at each of its reports."""
    if _simulated(old) == _simulated(new):
        return ()
    seed = new or old
    return [shoot.key for shoot in snapshot.by_index(SHOOTS_BY_SEED, seed.name)] if seed else ()


def _managed_seeds_of_shoot(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    shoot = new or old
    found = snapshot.by_index(MANAGED_SEEDS_BY_SHOOT, str(shoot.key)) if shoot else ()
    return [managed_seed.key for managed_seed in found]


def _managed_seeds_of_seed(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    seed = new or old
    found = snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed.name) if seed else ()
    return [managed_seed.key for managed_seed in found]


def _simulated(obj: Object | None) -> str | None:
    return obj.metadata.annotations.get(names.SIMULATE, "") if obj is not None else None


PARTS: Final = (
    Controller("dev.gardenlet", Seed, plan_seed, reads=(Lease,)),
    Controller("dev.shoots", Shoot, plan_shoot, (Watch(Seed, _shoots_of_seed),), workers=4),
    Controller("dev.pods", Pod, plan_pod),
    *MANAGER,
    MACHINES,
)
"""What is played by plans."""

CLUSTERS: Final = Controller(
    "dev.clusters", ManagedSeed, lambda *_: NOTHING, (Watch(Shoot, _managed_seeds_of_shoot),)
)
"""What is played beyond plans: the clusters of shoots that become seeds."""


REGISTRAR: Final = Controller(
    *("dev.registrar", ManagedSeed, plan_managed_seed),
    (Watch(Shoot, _managed_seeds_of_shoot), Watch(Seed, _managed_seeds_of_seed)),
)
"""What is played instead where a real Gardener keeps ManagedSeeds: their gardenlets."""

INSTALLER: Final = Controller("dev.installer", ControllerInstallation, plan_installation)
"""What only a real Gardener asks of gardenlets: its extensions."""


async def run(
    client: Client, clock: Clock, directory: Path, *, beside_gardener: bool = False
) -> None:
    """Play until cancelled."""
    parts = (*PARTS, REGISTRAR, INSTALLER) if beside_gardener else PARTS
    models = {model for part in (*parts, CLUSTERS) for model in part.models}
    metrics = Metrics()
    # Whole and with their authors: the plans have to tell what they played from what others wrote.
    kinds = [replace(kind_of_model(model), stored="exact") for model in models]
    cache = Cache(client, kinds, clock)
    cache.memory.configure(replace(cache.memory.options, beside_gardener=beside_gardener))
    recorder = Recorder(client, "local-provider", clock, metrics)
    writer = Writer(client, metrics, manager=authorship.MANAGER)
    async with Clusters(directory) as clusters, asyncio.TaskGroup() as tasks:
        tasks.create_task(cache.run())
        tasks.create_task(recorder.run())
        await cache.wait_synced()
        for part in parts:
            expectations = Expectations(cache, clock)
            reconciler = Reconciler(part, cache, writer, recorder, expectations)
            tasks.create_task(Runner(part, reconciler, cache, clock, metrics).run())
        if not beside_gardener:
            registration = Registration(cache, client, clusters)
            tasks.create_task(Runner(CLUSTERS, registration, cache, clock, metrics).run())
