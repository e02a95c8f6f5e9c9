"""The built-in scheduler on an API server, as `serve` runs it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import msgspec

from tests.support.landscape_objects import raw_seed, raw_shoot, read
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.crds import crd
from webhook.api.kinds import find_kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.requests import ApiRequest, Selection
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.domain.options import Options
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.placement.placer import Placer
from webhook.placement.scheduler import Scheduler
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.metrics import Metrics
from webhook.runtime.tasks import background
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger
from webhook.state.cluster_state import ClusterState

MODELS: tuple[type[Object], ...] = (
    Shoot,
    Seed,
    ManagedSeed,
    CloudProfile,
    NamespacedCloudProfile,
    Project,
)

_SHOOT: Final = kind_of_model(Shoot)


@dataclass
class Scheduling:
    """Everything that places shoots in one process."""

    client: Client
    cache: Cache
    placer: Placer
    dispatcher: Scheduler
    recorder: EventRecorder


async def define_kinds(server: Embedded | Kubernetes) -> None:
    """Define the kinds that placement reads."""
    kinds = [kind_of_model(model) for model in MODELS]
    items = [crd(kind, beside_gardener=False) for kind in kinds]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    await server.kubectl("apply", "--server-side", "-f", "-", input=listed)
    resources = [f"crd/{kind.resource}" for kind in kinds]
    await server.kubectl("wait", "--for=condition=Established", "--timeout=120s", *resources)


@asynccontextmanager
async def connected(
    kubeconfig: str, options: Options, tables: str = ""
) -> AsyncIterator[Scheduling]:
    """Connect to a server and fill a cache; nothing is scheduled yet.

    Tables of regions are read in the namespace `tables`, or in all.
    """
    clock = SystemClock()
    metrics = Metrics()
    kinds = [Selection(kind_of_model(model)) for model in MODELS]
    kinds.append(
        Selection(
            kind_of_model(ConfigMap),
            tables,
            labels="scheduling.gardener.cloud/purpose=region-config",
        )
    )
    async with Client(await config.load(kubeconfig)) as client:
        memory = ClusterState([selection.kind.model for selection in kinds], options=options)
        cache = Cache(client, kinds, clock, state=memory)
        recorder = EventRecorder(client, "test", clock, metrics)
        placer = Placer(client, cache, clock, recorder)
        dispatcher = Scheduler(client, cache, placer, recorder, clock, metrics)
        async with background("cache", cache.run()), background("events", recorder.run()):
            async with asyncio.timeout(120):
                await cache.wait_synced()
            yield Scheduling(client, cache, placer, dispatcher, recorder)


async def create_all(client: Client, drafts: Iterable[Draft], at_once: int = 16) -> None:
    """Create objects of our kinds with their status."""
    slots = asyncio.Semaphore(at_once)

    async def create(draft: Draft) -> None:
        kind = find_kind(draft["apiVersion"], draft["kind"])
        assert kind is not None
        metadata = draft["metadata"]
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        async with slots:
            body = {name: value for name, value in draft.items() if name != "status"}
            body["metadata"] = {
                name: value
                for name, value in metadata.items()
                if name not in ("uid", "resourceVersion")
            }
            await client.create(kind, key, body)
            if draft.get("status"):
                await client.patch(kind, key, {"status": draft["status"]}, subresource="status")

    async with asyncio.TaskGroup() as tasks:
        for draft in drafts:
            tasks.create_task(create(draft))


class Stage:
    """Seeds and shoots of one test, with names and a provider of its own on a shared server.

    The provider keeps the seeds of other tests out of every decision.
    """

    def __init__(self, scheduling: Scheduling, namespace: str) -> None:
        self.scheduling = scheduling
        self.client = scheduling.client
        self.namespace = namespace
        self.suffix = uuid4().hex[:6]
        self.provider = f"local-{self.suffix}"

    def name(self, name: str) -> str:
        return f"{name}-{self.suffix}"

    def key(self, shoot: str) -> ObjectKey:
        """Return the key of a shoot of the test."""
        return ObjectKey(self.namespace, shoot)

    def seed(self, name: str, **changes: Any) -> Draft:
        return raw_seed(self.name(name), **{"provider": self.provider, **changes})

    def shoot(self, name: str, **changes: Any) -> Draft:
        seed = changes.pop("seed", "")
        reported = {"provider": self.provider, "seed": self.name(seed) if seed else "", **changes}
        return raw_shoot(name, namespace=self.namespace, **reported)

    async def create(self, *drafts: Draft) -> None:
        await create_all(self.client, drafts)

    async def begin(self) -> None:
        profile = {
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "CloudProfile",
            "metadata": {"name": self.provider},
            "spec": {"type": self.provider},
        }
        await self.create(profile)

    async def end(self) -> None:
        """Delete the objects of the test that are not in its namespace."""
        for model in (Seed, CloudProfile):
            kind = kind_of_model(model)
            page = await self.client.page(Selection(kind), limit=0)
            for item in page.items:
                name = msgspec.json.decode(item)["metadata"]["name"]
                if name.endswith(self.suffix):
                    await self.client.delete(kind, ObjectKey("", name))

    async def get(self, shoot: str) -> Draft:
        return await self.client.get(_SHOOT, self.key(shoot))

    async def patch(self, shoot: str, change: Draft, subresource: str = "") -> None:
        await self.client.patch(_SHOOT, self.key(shoot), change, subresource=subresource)

    async def is_on(self, shoot: str, seed: str) -> bool:
        found = await self.get(shoot)
        return bool(found["spec"].get("seedName") == self.name(seed))

    async def is_pending(self, shoot: str) -> bool:
        operation = (await self.get(shoot)).get("status", {}).get("lastOperation") or {}
        return bool(operation.get("state") == "Pending")

    async def events(self, shoot: str, reason: str) -> list[str]:
        key = self.key(shoot)
        chosen = {"fieldSelector": f"involvedObject.name={key.name},reason={reason}"}
        request = ApiRequest("GET", f"/api/v1/namespaces/{key.namespace}/events", chosen)
        listed = await self.client.document(request)
        return [event["message"] for event in listed["items"]]

    async def ledger(self, seed: str) -> Ledger:
        """Return the ledger of a seed as the scheduler has written it."""
        key = ObjectKey(self.ledgers, ledger.name_of(self.name(seed)))
        return ledger.read(read(ConfigMap, await self.client.get(kind_of_model(ConfigMap), key)))

    @property
    def ledgers(self) -> str:
        """The namespace of the ledgers."""
        return self.namespace

    async def placements(self) -> dict[str, str]:
        """Return the seed of every shoot of the test, without the suffix."""
        page = await self.client.page(Selection(_SHOOT, self.namespace), limit=0)
        shoots = [msgspec.json.decode(item) for item in page.items]
        return {
            shoot["metadata"]["name"]: shoot["spec"]
            .get("seedName", "")
            .removesuffix(f"-{self.suffix}")
            for shoot in shoots
        }


async def run_explain(
    server: Embedded | Kubernetes, *arguments: str, given: str = ""
) -> tuple[int | None, str, str]:
    """Run `espalier explain`; return its exit code and its output."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "webhook", "explain", f"--kubeconfig={server.kubeconfig}", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate(given.encode())
    return process.returncode, out.decode(), err.decode()
