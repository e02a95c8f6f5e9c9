"""The controllers of the local provider, and how they are run.

They share nothing with the server beside them: they have their own client, cache and writer.
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
from webhook.api.registrations import ControllerInstallation
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.dev.localprovider import managedfields
from webhook.dev.localprovider.installations import plan_installation
from webhook.dev.localprovider.machines import MACHINE_CONTROLLER
from webhook.dev.localprovider.managedseeds import plan_managed_seed
from webhook.dev.localprovider.mcm import MCM_CONTROLLERS
from webhook.dev.localprovider.seeds import plan_seed
from webhook.dev.localprovider.shootclusters import GardenletReconciler, ShootClusters
from webhook.dev.localprovider.shoots import plan_shoot
from webhook.dev.localprovider.simulation import simulated
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.controller import Controller, Watch
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.runner import Runner
from webhook.runtime.writer import Writer
from webhook.state.indexes import (
    MANAGED_SEEDS_BY_NAME,
    MANAGED_SEEDS_BY_SHOOT,
    SHOOTS_BY_SEED,
)
from webhook.state.snapshot import Snapshot

_POD: Final = kind_of_model(Pod)


def plan_pod(pod: Pod, snapshot: Snapshot) -> Plan:
    """Report a pod with a node as running; pods that represent shoots never run."""
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
    """Enqueue the shoots of a seed whose simulated failure changes."""
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
    return simulated(obj) if obj is not None else None


LOCAL_CONTROLLERS: Final = (
    Controller("dev.gardenlet", Seed, plan_seed, reads=(Lease,)),
    Controller("dev.shoots", Shoot, plan_shoot, (Watch(Seed, _shoots_of_seed),), workers=4),
    Controller("dev.pods", Pod, plan_pod),
    *MCM_CONTROLLERS,
    MACHINE_CONTROLLER,
)
"""The controllers that run with every API server."""

SHOOT_CLUSTER_CONTROLLER: Final = Controller(
    "dev.clusters", ManagedSeed, lambda *_: NOTHING, (Watch(Shoot, _managed_seeds_of_shoot),)
)
"""The controller of the clusters behind ManagedSeeds; `GardenletReconciler` reconciles it."""

MANAGED_SEED_CONTROLLER: Final = Controller(
    *("dev.registrar", ManagedSeed, plan_managed_seed),
    (Watch(Shoot, _managed_seeds_of_shoot), Watch(Seed, _managed_seeds_of_seed)),
)
"""Replaces SHOOT_CLUSTER_CONTROLLER beside a real Gardener, which manages ManagedSeeds itself."""

INSTALLATION_CONTROLLER: Final = Controller(
    "dev.installer", ControllerInstallation, plan_installation
)
"""Runs only beside a real Gardener, which creates ControllerInstallations."""


async def run(
    client: Client, clock: Clock, directory: Path, *, beside_gardener: bool = False
) -> None:
    """Run the local provider until cancelled."""
    controllers: tuple[Controller, ...] = LOCAL_CONTROLLERS
    if beside_gardener:
        controllers = (*controllers, MANAGED_SEED_CONTROLLER, INSTALLATION_CONTROLLER)
    models = {each for row in (*controllers, SHOOT_CLUSTER_CONTROLLER) for each in row.models}
    metrics = Metrics()
    # With managedFields: the plans need the field managers of what is there.
    kinds = [replace(kind_of_model(model), stored="exact") for model in models]
    cache = Cache(client, kinds, clock)
    cache.state.configure(replace(cache.state.options, beside_gardener=beside_gardener))
    recorder = EventRecorder(client, "local-provider", clock, metrics)
    writer = Writer(client, metrics, manager=managedfields.FIELD_MANAGER)
    async with ShootClusters(directory) as clusters, asyncio.TaskGroup() as tasks:
        tasks.create_task(cache.run())
        tasks.create_task(recorder.run())
        await cache.wait_synced()
        for controller in controllers:
            expectations = Expectations(cache, clock)
            reconciler = Reconciler(controller, cache, writer, recorder, expectations)
            tasks.create_task(Runner(controller, reconciler, cache, clock, metrics).run())
        if not beside_gardener:
            gardenlets = GardenletReconciler(cache, client, clusters)
            tasks.create_task(
                Runner(SHOOT_CLUSTER_CONTROLLER, gardenlets, cache, clock, metrics).run()
            )
