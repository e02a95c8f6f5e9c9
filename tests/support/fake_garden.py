"""A garden in memory: the fake API server with controllers that run in turn.

The gardenlets are those of the local provider. Time passes when a test moves the clock.
"""

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_cluster import FakeCluster
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap, ControllerRevision, Event, Lease
from webhook.api.kinds import find_kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.projects import CredentialsBinding, Project, SecretBinding
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ConflictError
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.controllers.seedcapacity.controller import SEED_CAPACITY
from webhook.controllers.shootsready.controller import SHOOTS_READY
from webhook.dev.localprovider.controllers import LOCAL_CONTROLLERS
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.runtime.controller import Controller, RefusedError
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.writer import Writer

T = TypeVar("T", bound=Object)

MODELS: tuple[type[Object], ...] = (
    *(ConfigMap, ControllerRevision, Lease, ManagedSeed, ManagedSeedSet, SeedAutoscaler, Seed),
    *(Shoot, SecretBinding, CredentialsBinding, CloudProfile, NamespacedCloudProfile, Project),
)
LOCAL_PROVIDER = tuple(part for part in LOCAL_CONTROLLERS if part.model in (Seed, Shoot))
SET_CONTROLLERS = (MANAGED_SEED_SET, MANAGED_SEED, SHOOTS_READY, SEED_CAPACITY)


class FakeGarden:
    """A fake API server, its one client, and the controllers of that client."""

    server_type: type[FakeApiServer] = FakeApiServer

    def __init__(
        self,
        options: Options | None = None,
        rows: Sequence[Controller] = (*SET_CONTROLLERS, *LOCAL_PROVIDER),
    ) -> None:
        self.clock = FakeClock()
        server = self.server_type(self.clock)
        self.api = FakeCluster(self.clock, *MODELS, server=server, options=options)
        self.metrics = Metrics()
        self.rows = rows
        self.after_pass: Callable[[], None] = lambda: None
        self.actor = ""
        self.start()

    def start(self) -> None:
        """Start all controllers as a new process does."""
        self.recorder = EventRecorder(self.api, "test", self.clock, self.metrics)
        writer = Writer(self.api, self.metrics)
        self.reconcilers = [
            (
                row,
                Reconciler(
                    row, self.api, writer, self.recorder, Expectations(self.api, self.clock)
                ),
            )
            for row in self.rows
        ]
        self.due: dict[tuple[str, ObjectKey], float] = {}

    def put(self, body: Draft) -> Draft:
        kind = find_kind(body["apiVersion"], body["kind"])
        assert kind is not None
        return self.api.put(kind, copy.deepcopy(body))

    def get(self, model: type[T], name: str, namespace: str = "garden") -> T:
        found = self.find(model, name, namespace)
        assert found is not None, f"{model.__name__} {name} is not there"
        return found

    def find(self, model: type[T], name: str, namespace: str = "garden") -> T | None:
        key = ObjectKey(namespace if kind_of_model(model).namespaced else "", name)
        return self.api.memory.get(model, key)

    def names(self, model: type[Object]) -> list[str]:
        return sorted(obj.name for obj in self.api.memory.store(model).list())

    async def change(self, model: type[Object], name: str, change: Draft, **more: str) -> None:
        kind = kind_of_model(model)
        key = ObjectKey(more.get("namespace", "garden") if kind.namespaced else "", name)
        await self.api.patch(kind, key, change, subresource=more.get("subresource", ""))

    async def delete(self, model: type[Object], name: str, namespace: str = "garden") -> None:
        kind = kind_of_model(model)
        await self.api.delete(kind, ObjectKey(namespace if kind.namespaced else "", name))

    async def turn(self) -> int:
        """Reconcile every object once with every controller; return the number of writes."""
        before = len(self.api.calls)
        for row, reconciler in self.reconcilers:
            self.actor = row.name
            for key in [obj.key for obj in self.api.memory.store(row.model).list()]:
                try:
                    result = await reconciler.reconcile(key)
                except (RefusedError, ConflictError):
                    continue
                if result.requeue_after is not None:
                    self.due[row.name, key] = self.clock.monotonic() + result.requeue_after
                self.after_pass()
        self.actor = ""
        await self.recorder.flush()
        return len(self.api.calls) - before

    async def run(self, seconds: float = 600, until: Callable[[], bool] = lambda: False) -> None:
        """Run controllers and the clock until a condition holds or the time is over."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            for _ in range(50):
                if until():
                    return
                if not await self.turn():
                    break
                await asyncio.sleep(0)
            self.clock.pass_time(1.0)

    def events(self) -> list[tuple[str, str]]:
        return [(body["reason"], body["message"]) for body in self.api.server.bodies(Event)]
