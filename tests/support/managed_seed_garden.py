"""A garden in memory with a Shoot that is to become a seed, and the cluster of that Shoot."""

import base64
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.support.fake_garden import FakeGarden
from tests.support.set_objects import make_hosted_shoot, make_parent
from webhook.api.core import Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed.plan import plan
from webhook.domain.options import Options, SeedsOptions
from webhook.kube import conditions
from webhook.kube.meta import Draft, Metadata, Object, ObjectKey
from webhook.runtime.actions import Action, Apply, Create, Patch, Plan, RemoteWrite, Write
from webhook.state.live_reads import LiveRead, LiveResult, RemoteGet, Unreachable

T = TypeVar("T")

SECRETS = kind_of_model(Secret)
TEMPLATE = {
    "metadata": {"labels": {"color": "green"}, "annotations": {"note": "x"}},
    "spec": {"taints": [{"key": "seed.gardener.cloud/protected"}]},
}


class Seeds(FakeGarden):
    """A garden with a Shoot that is to become a seed."""

    def plant(self, template: Draft | None = None, **spec: Any) -> None:
        self.put(make_parent())
        shoot = make_hosted_shoot("oak", "parent")
        shoot["metadata"] |= {"namespace": "garden"}
        shoot["spec"] |= {
            "secretBindingName": "aws",
            "dns": {"domain": "oak.example.org"},
            "networking": {"nodes": "10.1.0.0/16", "pods": "10.2.0.0/16"},
        }
        shoot["spec"]["provider"]["workers"] = [{"name": "pool", "zones": ["b", "a"]}]
        self.put(shoot)
        variant = spec or {"seedTemplate": TEMPLATE if template is None else template}
        self.put(
            {
                "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
                "kind": "ManagedSeed",
                "metadata": {"name": "oak", "namespace": "garden"},
                "spec": {"shoot": {"name": "oak"}, **variant},
            }
        )

    def add_secret(self, name: str, **data: str) -> None:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        metadata = {"name": name, "namespace": "garden"}
        self.api.put(SECRETS, {"metadata": metadata, "data": encoded})

    def secret(self, name: str) -> Draft | None:
        return self.api.objects.get((Secret, ObjectKey("garden", name)))

    def condition(self, kind: str) -> tuple[str, str, str]:
        found = conditions.get(self.get(ManagedSeed, "oak").status.conditions, kind)
        assert found is not None
        return found.status, found.reason, found.message


GARDENLET: Draft = {
    "deployment": {"replicaCount": 1, "image": {"repository": "here/gardenlet", "tag": "v1"}},
    "config": {
        "resources": {"capacity": {"shoots": 20}},
        "seedConfig": {"metadata": {"labels": {"color": "green"}}},
    },
    "bootstrap": "BootstrapToken",
    "mergeWithParent": True,
}


class GardenWithShootClusters(Seeds):
    """A garden whose plans write into the cluster of a Shoot, which a test describes."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options or Options(seeds=SeedsOptions(garden_server="https://g:443")), ())
        self.there: dict[tuple[Kind, ObjectKey], Object] = {}
        """The objects of the Shoot's cluster."""
        self.down = ""
        """Why the Shoot's cluster cannot be reached."""

    async def plant_gardenlet(self, **gardenlet: Any) -> None:
        """Add a reconciled Shoot, its kubeconfig and a ManagedSeed with a gardenlet."""
        self.plant(gardenlet={**GARDENLET, **gardenlet})
        status = {
            "lastOperation": {"type": "Create", "state": "Succeeded"},
            "observedGeneration": 1,
        }
        await self.change(Shoot, "oak", {"status": status}, subresource="status")
        await self.change(ManagedSeed, "oak", {"metadata": {"finalizers": ["gardener"]}})
        self.add_secret("oak.kubeconfig", kubeconfig="clusters: []")

    def remove_kubeconfig(self) -> None:
        del self.api.objects[Secret, ObjectKey("garden", "oak.kubeconfig")]

    def put_there(self, kind: Kind, name: str, **metadata: Any) -> None:
        key = ObjectKey("garden" if kind.namespaced else "", name)
        named = Metadata(name=name, namespace=key.namespace, uid=f"uid-{name}", **metadata)
        self.there[kind, key] = Object(metadata=named)

    async def annotate(self, **annotations: str | None) -> None:
        await self.change(ManagedSeed, "oak", {"metadata": {"annotations": annotations}})

    def planned(self) -> Plan:
        """Plan with the results of all live reads."""
        results: dict[LiveRead, LiveResult] = {}
        while True:
            snapshot = self.api.snapshot(results)
            found = plan(self.get(ManagedSeed, "oak"), snapshot)
            if not snapshot.live_reads:
                return found
            results |= {read: self._read(read) for read in snapshot.live_reads}

    async def settle(self) -> Plan:
        """Carry out what is written into the garden until nothing is left to write."""
        planned = self.planned()
        for _ in range(10):
            if not planned.actions:
                return planned
            for action in planned.actions:
                await self._write(action)
            planned = self.planned()
        raise AssertionError(f"it does not settle: {planned.actions}")

    async def settle_status(self) -> None:
        """Carry out one plan that only reports something."""
        (reported,) = self.planned().actions
        assert isinstance(reported, Patch)
        assert reported.subresource == "status"
        await self._write(reported)

    def _read(self, read: LiveRead) -> LiveResult:
        if not isinstance(read, RemoteGet):
            return self.api.read_one(read)
        return Unreachable(self.down) if self.down else self.there.get((read.kind, read.key))

    async def _write(self, action: Action) -> None:
        if isinstance(action, Patch):
            change = action.change
            assert isinstance(change, dict)
            await self.api.patch(action.kind, action.key, change, subresource=action.subresource)
        elif isinstance(action, Create):
            self.api.put(action.kind, action.body)


def remote(planned: Plan) -> list[Write]:
    """Return the writes into the Shoot's cluster."""
    return [action.write for action in planned.actions if isinstance(action, RemoteWrite)]


def remote_actions(planned: Plan) -> list[RemoteWrite]:
    """Return the writes into the Shoot's cluster with their kubeconfigs."""
    return [action for action in planned.actions if isinstance(action, RemoteWrite)]


def local(planned: Plan, kind: type[T]) -> list[T]:
    """Return the actions of one type in the garden."""
    return [action for action in planned.actions if isinstance(action, kind)]


def body_of(writes: Sequence[Write], kind: str, name: str = "") -> Draft:
    """Return the body of the only object of a kind that is written."""
    (found,) = (
        write.body
        for write in writes
        if isinstance(write, Apply | Create)
        and write.kind.name == kind
        and name in ("", write.key.name)
    )
    return found
