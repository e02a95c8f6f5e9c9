"""A stage on a real Gardener: seeds and shoots that Gardener accepts, under Espalier's account."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec
from typing_extensions import override

from tests.support.garden_cluster import ACCOUNT, GardenCluster, make_seed, make_shoot
from tests.support.landscape_objects import REGION
from tests.support.scheduler import Scheduling, Stage, connected, create_all
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import ApiRequest, Selection
from webhook.dev.localprovider.simulation import DARK
from webhook.dev.planes.gardener import PROJECT_NAMESPACE
from webhook.dev.planes.gardenmanifests import GARDEN
from webhook.domain.options import Options
from webhook.kube.meta import Draft, ObjectKey

HOME = "local"
"""The only region of the garden's CloudProfile."""

_SEED = kind_of_model(Seed)
_SHOOT = kind_of_model(Shoot)
_RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces"


class GardenStage(Stage):
    """Seeds and shoots with names of the test; the shoots select only the seeds of the test.

    The administrator creates them; Espalier acts under its own account.
    """

    def __init__(
        self, scheduling: Scheduling, namespace: str, client: Client, scheduler: str
    ) -> None:
        super().__init__(scheduling, namespace)
        self.client = client
        self._scheduler = scheduler

    @override
    def key(self, shoot: str) -> ObjectKey:
        return ObjectKey(PROJECT_NAMESPACE, self.name(shoot))

    @property
    @override
    def ledgers(self) -> str:
        return "espalier-system"

    @override
    def seed(
        self,
        name: str,
        *,
        region: str = REGION,
        zones: Sequence[str] = ("a",),
        shoots: int = 250,
        ready: bool = True,
        **changes: Any,
    ) -> Draft:
        draft = make_seed(self.name(name), **changes)
        place = HOME if region == REGION else region
        draft["spec"]["provider"] |= {
            "region": place,
            "zones": [f"{place}-{zone}" for zone in zones],
        }
        draft["metadata"]["labels"]["test"] = self.suffix
        room = {"shoots": str(shoots)}
        status: Draft = {"capacity": room, "allocatable": room}
        if not ready:
            draft["metadata"]["annotations"] = {names.SIMULATE: DARK}
            status |= {
                "conditions": [{"type": names.GARDENLET_READY, "status": "False"}],
                "lastOperation": {"type": "Reconcile", "state": "Succeeded"},
            }
        return {**draft, "status": status}

    @override
    def shoot(
        self,
        name: str,
        *,
        seed: str = "",
        ha: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Draft:
        annotations = {names.DELETION_CONFIRMATION: "true"}
        if ha is not None:
            annotations[names.HIGH_AVAILABILITY] = json.dumps(ha)
        chosen = (spec.pop("seedSelector", None) or {}).get("matchLabels") or {}
        spec["seedSelector"] = {"matchLabels": {"test": self.suffix, **chosen}}
        if seed:
            spec["seedName"] = self.name(seed)
        return make_shoot(
            self.key(name).name, annotations=annotations, schedulerName=self._scheduler, **spec
        )

    @override
    async def create(self, *drafts: Draft) -> None:
        """Create seeds, then shoots: Gardener refuses a shoot whose seed is not in its cache."""
        seeds = [draft for draft in drafts if draft["kind"] == "Seed"]
        await create_all(self.client, seeds)
        for draft in seeds:
            if names.SIMULATE not in draft["metadata"].get("annotations", {}):
                name = draft["metadata"]["name"]
                await eventually(lambda name=name: self._is_ready(name))
        await create_all(self.client, [draft for draft in drafts if draft["kind"] != "Seed"])

    async def _is_ready(self, seed: str) -> bool:
        found = await self.client.get(_SEED, ObjectKey("", seed))
        reported = found.get("status", {}).get("conditions") or ()
        return any(
            (each["type"], each["status"]) == (names.GARDENLET_READY, "True") for each in reported
        )

    @override
    async def begin(self) -> None:
        """Grant the account the permissions of its own namespace in the test's, for its ledgers."""
        path = f"{_RBAC}/espalier-system/roles/espalier"
        role = await self.client.document(ApiRequest("GET", path))
        user = {"kind": "User", "name": ACCOUNT, "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "Role", "name": "espalier", "apiGroup": user["apiGroup"]}
        metadata = {"name": "espalier"}
        for plural, body in (
            ("roles", {"metadata": metadata, "rules": role["rules"]}),
            ("rolebindings", {"metadata": metadata, "roleRef": reference, "subjects": [user]}),
        ):
            path = f"{_RBAC}/{self.namespace}/{plural}"
            await self.client.document(ApiRequest("POST", path, body=msgspec.json.encode(body)))

    @override
    async def end(self) -> None:
        """Delete the shoots; the seeds stay until the last shoot is gone."""
        going = [partial(self._delete, key) for key in await self._keys()]
        await asyncio.gather(*(eventually(each) for each in going))

    async def _delete(self, shoot: ObjectKey) -> bool:
        with suppress(NotFoundError):
            await self.client.delete(_SHOOT, shoot)
        return True

    @override
    async def placements(self) -> dict[str, str]:
        return {
            shoot["metadata"]["name"].removesuffix(f"-{self.suffix}"): shoot["spec"]
            .get("seedName", "")
            .removesuffix(f"-{self.suffix}")
            for shoot in await self._shoots()
        }

    async def _keys(self) -> list[ObjectKey]:
        return [
            ObjectKey(PROJECT_NAMESPACE, shoot["metadata"]["name"])
            for shoot in await self._shoots()
        ]

    async def _shoots(self) -> list[Draft]:
        page = await self.client.page(Selection(_SHOOT, PROJECT_NAMESPACE), limit=0)
        shoots = [msgspec.json.decode(item) for item in page.items]
        return [one for one in shoots if one["metadata"]["name"].endswith(self.suffix)]


@asynccontextmanager
async def garden_stage(
    espalier: GardenCluster, namespace: str, scheduler: str
) -> AsyncIterator[GardenStage]:
    """Set up a stage on a garden cluster with Espalier and simulated gardenlets."""
    options = Options(namespace=namespace, beside_gardener=True)
    account = str(espalier.directory / "kubeconfig")
    async with (
        Client(await config.load(str(espalier.plane.kubeconfig))) as administrator,
        connected(account, options, GARDEN) as scheduling,
    ):
        found = GardenStage(scheduling, namespace, administrator, scheduler)
        await found.begin()
        yield found
        await found.end()
