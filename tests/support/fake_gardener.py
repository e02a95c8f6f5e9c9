"""A fake garden in which a Gardener creates the replicas of the set `leaf`."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from typing_extensions import override

from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_garden import LOCAL_PROVIDER, FakeGarden
from tests.support.set_objects import make_parent, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.controllers.gardenerrollout.controller import GARDENER_ROLLOUT
from webhook.controllers.gardenerrollout.plan import plan
from webhook.dev.localprovider.controllers import MANAGED_SEED_CONTROLLER
from webhook.domain.options import Options
from webhook.domain.sets.rollout import render_template
from webhook.kube.meta import Draft, Object, ObjectKey

BESIDE = Options(beside_gardener=True)


WINDOW = {"begin": "220000+0000", "end": "230000+0000"}
CONFINED = {"confineSpecUpdateRollout": True, "timeWindow": WINDOW}
BROKEN = {names.SIMULATE: "fail"}


class FakeGardenerApiServer(FakeApiServer):
    """Treats writes of Shoots as gardener-apiserver does."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.defaults: Draft = {}
        self.operations: list[str | None] = []

    @override
    def raises_generation(self, model: type[Object], old: Draft, new: Draft) -> bool:
        """Raise the generation for a spec that is not confined, or for an operation annotation.

        Which operation counts depends on how the last one ended; one that counts is removed.
        """
        if model is not Shoot:
            return super().raises_generation(model, old, new)
        new["spec"] = {**self.defaults, **new["spec"]}
        spec = new["spec"]
        changed = bool(old["spec"] != spec)
        annotations = dict(new["metadata"].get("annotations") or {})
        operation = annotations.get(names.OPERATION)
        state = ((old.get("status") or {}).get("lastOperation") or {}).get("state")
        counts = names.OPERATION_RETRY if state == "Failed" else names.OPERATION_RECONCILE
        is_requested = state is not None and counts in (operation or "").split(";")
        if is_requested:
            del annotations[names.OPERATION]
            new["metadata"] = {**new["metadata"], "annotations": annotations}
        if changed:
            self.operations.append(operation)
        confined = (spec.get("maintenance") or {}).get("confineSpecUpdateRollout")
        return is_requested or (changed and not confined)


class FakeGardener(FakeGarden):
    """A garden whose replicas are created as gardener-controller-manager creates them."""

    server_type = FakeGardenerApiServer

    @property
    def server(self) -> FakeGardenerApiServer:
        assert isinstance(self.api.server, FakeGardenerApiServer)
        return self.api.server

    def __init__(
        self, replicas: int = 3, options: Options = BESIDE, notes: Draft | None = None
    ) -> None:
        rows = (
            replace(GARDENER_ROLLOUT, plan=self._plan),
            *LOCAL_PROVIDER,
            MANAGED_SEED_CONTROLLER,
        )
        super().__init__(options, rows)
        self.put(make_parent())
        owner = make_set(replicas=replicas)
        config = {"seedConfig": owner["spec"]["template"]["spec"].pop("seedTemplate")}
        owner["spec"]["template"]["spec"]["gardenlet"] = {"config": config}
        owner["metadata"]["annotations"] = {names.ROLLOUT: "true", **(notes or {})}
        self.put(owner)
        for ordinal in range(replicas):
            self.make_replica(ordinal)

    def _plan(self, owner: ManagedSeedSet, snapshot: Any) -> Any:
        return plan(owner, snapshot, self)

    def of_set(self, _key: ObjectKey) -> Mapping[str, Draft]:
        """Return all Shoots by uid, with all their fields."""
        return {body["metadata"]["uid"]: body for body in self.server.bodies(Shoot)}

    def make_replica(self, ordinal: int) -> None:
        """Create a replica from the current templates, as gardener-controller-manager does."""
        owner = self.get(ManagedSeedSet, "leaf")
        spec = self.raw("ManagedSeedSet", "leaf")["spec"]
        name = f"leaf-{ordinal}"
        reference = {
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
            "kind": "ManagedSeedSet",
            "name": "leaf",
            "uid": owner.uid,
            "controller": True,
        }
        for kind, api, part in (
            ("Shoot", "core.gardener.cloud/v1beta1", "shootTemplate"),
            ("ManagedSeed", "seedmanagement.gardener.cloud/v1alpha1", "template"),
        ):
            body = copy.deepcopy(render_template(spec[part], name))
            body |= {"apiVersion": api, "kind": kind}
            body["metadata"] |= {
                "name": name, "namespace": "garden", "ownerReferences": [reference],
            }  # fmt: skip
            if kind == "ManagedSeed":
                body["spec"]["shoot"] = {"name": name}
            self.put(body)

    def raw(self, kind: str, name: str) -> Draft:
        return next(
            body
            for (found, key), body in self.api.objects.items()
            if found.__name__ == kind and key.name == name
        )

    async def template(self, **spec: Any) -> None:
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": {"spec": spec}}})

    async def break_template(self, spec: Draft) -> None:
        """Write a template with which the Shoots of replicas fail to reconcile."""
        broken = {"metadata": {"annotations": BROKEN}, "spec": spec}
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": broken}})

    async def repair_template(self, spec: Draft) -> None:
        """Write a template with which they reconcile again."""
        repaired = {"metadata": {"annotations": None}, "spec": spec}
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": repaired}})

    async def until(self, reason: str) -> None:
        """Run until the condition Progressing has a reason."""
        await self.run(60, lambda: self.reason == reason)
        assert self.reason == reason

    @property
    def reason(self) -> str:
        return str(self.condition(names.PROGRESSING).get("reason"))

    async def settle(self, seconds: float = 30) -> None:
        await self.run(seconds)

    @property
    def status(self) -> Draft:
        found: Draft = self.raw("ManagedSeedSet", "leaf").get("status") or {}
        return found

    def condition(self, kind: str) -> Draft:
        return next((c for c in self.status.get("conditions", ()) if c["type"] == kind), {})

    def purposes(self) -> list[str]:
        shoots = [self.raw("Shoot", f"leaf-{ordinal}") for ordinal in range(3)]
        return [shoot["spec"].get("purpose", "") for shoot in shoots]

    def updates(self) -> list[str]:
        return [message.split()[1] for reason, message in self.events() if reason == "Updating"]
