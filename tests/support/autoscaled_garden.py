"""A garden in memory with a set, its autoscaler and a scheduler."""

from typing import Any

from tests.support.builders import CORE
from tests.support.fake_garden import LOCAL_PROVIDER, SET_CONTROLLERS, FakeGarden
from tests.support.set_objects import make_autoscaler, make_hosted_shoot, make_parent, make_set
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.seedautoscaler import cordon
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER, SEED_CORDON
from webhook.domain.options import CapacityOptions, Options
from webhook.kube import conditions
from webhook.runtime.actions import Patch, Plan
from webhook.runtime.controller import Controller
from webhook.scheduling.pipeline import place
from webhook.state.snapshot import Snapshot

SHOOTS = kind_of_model(Shoot)


def schedule(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Place a shoot as the built-in scheduler would."""
    if shoot.spec.seed_name or shoot.is_deleting:
        return Plan()
    seed = place(shoot, snapshot.list(Seed), snapshot).seed
    if seed is None:
        return Plan()
    return Plan((Patch(SHOOTS, shoot.key, {"spec": {"seedName": seed}}, shoot.uid),))


OURS = (*SET_CONTROLLERS, SEED_AUTOSCALER, SEED_CORDON)
ROWS = (*OURS, *LOCAL_PROVIDER, Controller("schedule", Shoot, schedule))


QUICK = {
    "scaleUp": {"policies": [{"type": "Seeds", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {"stabilizationWindowSeconds": 60},
}


class AutoscaledGarden(FakeGarden):
    """A garden where a set of small seeds is scaled by how full they are."""

    def __init__(self) -> None:
        options = Options(capacity=CapacityOptions(default=20))
        super().__init__(options, ROWS)
        profile = {"apiVersion": CORE, "kind": "CloudProfile", "metadata": {"name": "aws"}}
        self.put({**profile, "spec": {"type": "aws"}})

    async def grow(self, **spec: Any) -> None:
        parent = make_parent()
        parent["spec"]["taints"] = [{"key": names.SEED_PROTECTED}]
        self.put(parent)
        tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
        self.put(make_set(replicas=1, maxParallel=5, shootTemplate=tolerant))
        self.put(make_autoscaler(**{"behavior": QUICK, **spec}))
        await self.run(40)

    async def grow_another(self, name: str) -> None:
        """Create a second set with its own autoscaler."""
        tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
        labels = {"set": name}
        owner = make_set(name, replicas=1, maxParallel=5, shootTemplate=tolerant)
        owner["spec"]["selector"] = {"matchLabels": labels}
        for template in (owner["spec"]["template"], owner["spec"]["shootTemplate"]):
            template["metadata"]["labels"] = labels
        self.put(owner)
        self.put(make_autoscaler(name, behavior=QUICK))
        await self.run(40)

    async def add(self, count: int, start: int = 0) -> None:
        for number in range(start, start + count):
            hosted = make_hosted_shoot(f"hosted-{number}", "")
            hosted["spec"] |= {"cloudProfile": {"name": "aws"}}
            del hosted["spec"]["seedName"]
            self.put(hosted)

    async def remove(self, count: int, start: int = 0) -> None:
        for number in range(start, start + count):
            await self.delete(Shoot, f"hosted-{number}", "garden-dev")

    @property
    def scaler(self) -> SeedAutoscaler:
        return self.get(SeedAutoscaler, "leaf")

    @property
    def replicas(self) -> int | None:
        return self.get(ManagedSeedSet, "leaf").spec.replicas

    def condition(self, kind: str) -> tuple[str, str]:
        found = conditions.get(self.scaler.status.conditions, kind)
        assert found is not None
        return found.status, found.reason

    @property
    def cordoned(self) -> list[str]:
        """The names of the seeds with our taint."""
        return [name for name in self.names(Seed) if cordon.is_cordoned(self.get(Seed, name))]
