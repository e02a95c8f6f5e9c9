"""The demo landscape under the names of a test, with any number of shoots."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.landscape_objects import read
from tests.support.scheduler import Stage
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.kinds import KINDS, find_kind
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.landscapes import demo
from webhook.kube.meta import Draft, ObjectKey
from webhook.scheduling import explain
from webhook.scheduling.seed_table import SeedTable
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

SHOOTS = 200
LANDSCAPE = ("CloudProfile", "ConfigMap", "Seed")


class DemoLandscape:
    """The demo landscape on a stage; its providers have the suffix of the stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def begin(self) -> None:
        """Create the landscape and wait until the cache has it."""
        drafts = [*self.landscape()]
        await self.stage.create(*drafts)
        seeds = [ObjectKey("", draft["metadata"]["name"]) for draft in drafts[-len(demo.SEEDS) :]]
        await eventually(lambda: self._knows(seeds))

    def landscape(self) -> Iterator[Draft]:
        for draft in demo.objects():
            if draft["kind"] in LANDSCAPE:
                yield self._localise(draft)

    def shoots(self, count: int = SHOOTS) -> list[Draft]:
        """Return a number of shoots; those that already have a seed first."""
        return sorted(self._shoots(count), key=lambda draft: "seedName" not in draft["spec"])

    def _shoots(self, count: int) -> Iterator[Draft]:
        for index in range(count):
            number, shift = divmod(index, len(demo.PROJECTS))
            draft = demo.shoot(demo.PROJECTS[shift], number, shift)
            draft["metadata"]["namespace"] = self.stage.namespace
            spec = draft["spec"]
            spec["cloudProfile"]["name"] = self.stage.name(spec["cloudProfile"]["name"])
            spec["provider"]["type"] = self.stage.name(spec["provider"]["type"])
            if "seedName" in spec:
                spec["seedName"] = self.stage.name(spec["seedName"])
            yield draft

    def explained(self, drafts: list[Draft]) -> dict[str, str | None]:
        """Return the seeds that `explain` gives to shoots that arrive one after the other."""
        memory = ClusterState(kind.model for kind in KINDS)
        for draft in self.landscape():
            kind = find_kind(draft["apiVersion"], draft["kind"])
            assert kind is not None
            obj: Any = read(kind.model, draft)
            memory.store(kind.model).put(obj.key, obj)
        landscape = SeedTable()
        ends: dict[str, str | None] = {}
        for draft in drafts:
            shoot = read(Shoot, draft)
            seed = shoot.spec.seed_name or None
            if seed is None:
                explained_shoot = explain.explain(
                    shoot, landscape, Snapshot(memory, Snapshot.of([]).taken_at)
                )
                seed = explained_shoot.seed
            ends[shoot.name] = seed.removesuffix(f"-{self.stage.suffix}") if seed else None
            placed = {**draft, "spec": {**draft["spec"], **({"seedName": seed} if seed else {})}}
            memory.store(Shoot).put(shoot.key, read(Shoot, placed))
        return ends

    async def create_in_order(self, drafts: list[Draft], ends: dict[str, str | None]) -> None:
        """Create shoots one after the other, each when the one before is assumed on its seed."""
        for draft in drafts:
            await self.stage.create(draft)
            name = draft["metadata"]["name"]
            if ends[name] is not None:
                await eventually(lambda name=name: self._is_placed(name), 60)

        expected = sum(seed is not None for seed in ends.values())
        await eventually(lambda: self._are_placed(expected))

    async def placements(self) -> dict[str, str | None]:
        return {name: seed or None for name, seed in (await self.stage.placements()).items()}

    async def _are_placed(self, count: int) -> bool:
        return sum(map(bool, (await self.stage.placements()).values())) >= count

    def _is_placed(self, name: str) -> bool:
        key = ObjectKey(self.stage.namespace, name)
        found = self.stage.scheduling.cache.snapshot().get(Shoot, key)
        return found is not None and bool(found.spec.seed_name)

    def _knows(self, seeds: list[ObjectKey]) -> bool:
        snapshot = self.stage.scheduling.cache.snapshot()
        found = [snapshot.get(Seed, key) for key in seeds]
        profiles = [one.name for one in snapshot.list(CloudProfile)]
        return all(seed is not None and seed.status.allocatable for seed in found) and all(
            self.stage.name(provider.name) in profiles for provider in demo.PROVIDERS
        )

    def _localise(self, draft: Draft) -> Draft:
        own: Draft = json.loads(json.dumps(draft))
        metadata = own["metadata"]
        metadata["name"] = self.stage.name(metadata["name"])
        if own["kind"] == "CloudProfile":
            own["spec"]["type"] = self.stage.name(own["spec"]["type"])
        elif own["kind"] == "ConfigMap":
            metadata["namespace"] = self.stage.namespace
            profiles = metadata["annotations"]
            profiles[names.REGION_CONFIG_PROFILES] = self.stage.name(
                profiles[names.REGION_CONFIG_PROFILES]
            )
        else:
            own["spec"]["provider"]["type"] = self.stage.name(own["spec"]["provider"]["type"])
            dark = names.SIMULATE in metadata.get("annotations", {})
            # The status that a gardenlet reports.
            own["status"]["conditions"] = [
                {"type": "GardenletReady", "status": "Unknown" if dark else "True"}
            ]
            own["status"]["lastOperation"] = {"type": "Reconcile", "state": "Succeeded"}
        return own
