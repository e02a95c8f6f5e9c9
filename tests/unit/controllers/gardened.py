"""A garden in which a Gardener makes the replicas of the set `leaf`, and Espalier rolls them."""

import copy
from dataclasses import replace
from typing import Any

from typing_extensions import override

from tests.gardens import PLAYED, Garden, Rules
from tests.sets import make_parent, make_set
from webhook.api import names
from webhook.api.kinds import Kind
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.cli.dev.provider import REGISTRAR
from webhook.controllers.complement.controller import ROLLOUT
from webhook.controllers.complement.plan import plan
from webhook.domain.options import Options
from webhook.domain.rollout import fill_in

BESIDE = Options(beside_gardener=True)


WINDOW = {"begin": "220000+0000", "end": "230000+0000"}
CONFINED = {"confineSpecUpdateRollout": True, "timeWindow": WINDOW}
BROKEN = {names.SIMULATE: "fail"}


class Strategy(Rules):
    """Writes of Shoots, as Gardener's API server treats them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.defaults: Draft = {}
        self.operations: list[str | None] = []

    @override
    def is_raised(self, kind: Kind, old: Draft, new: Draft) -> bool:
        """Raise the generation for a spec that is not confined, or for an operation.

        An operation counts by how the last one ended, and is taken away if it does.
        """
        if kind.name != "Shoot":
            return super().is_raised(kind, old, new)
        new["spec"] = {**self.defaults, **new["spec"]}
        spec = new["spec"]
        changed = bool(old["spec"] != spec)
        annotations = dict(new["metadata"].get("annotations") or {})
        operation = annotations.get(names.OPERATION)
        state = ((old.get("status") or {}).get("lastOperation") or {}).get("state")
        counts = names.OPERATION_RETRY if state == "Failed" else names.OPERATION_RECONCILE
        is_asked = state is not None and counts in (operation or "").split(";")
        if is_asked:
            del annotations[names.OPERATION]
            new["metadata"] = {**new["metadata"], "annotations": annotations}
        if changed:
            self.operations.append(operation)
        confined = (spec.get("maintenance") or {}).get("confineSpecUpdateRollout")
        return is_asked or (changed and not confined)


class Gardened(Garden):
    """What a test works with: replicas are made as gardener-controller-manager makes them."""

    api: Strategy
    rules = Strategy

    def __init__(
        self, replicas: int = 3, options: Options = BESIDE, notes: Draft | None = None
    ) -> None:
        rows = (replace(ROLLOUT, plan=self._plan), *PLAYED, REGISTRAR)
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
        raws = {
            body["metadata"]["uid"]: body
            for (kind, _), body in self.api.objects.items()
            if kind in ("Shoot", "ManagedSeed")
        }
        return plan(owner, snapshot, raws)

    def make_replica(self, ordinal: int) -> None:
        """Do as gardener-controller-manager does, from the present templates."""
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
            body = copy.deepcopy(fill_in(spec[part], name))
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
            if found == kind and key.name == name
        )

    async def template(self, **spec: Any) -> None:
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": {"spec": spec}}})

    async def break_it(self, spec: Draft) -> None:
        """Give the set a template that the Shoots of replicas cannot be reconciled with."""
        broken = {"metadata": {"annotations": BROKEN}, "spec": spec}
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": broken}})

    async def mend_it(self, spec: Draft) -> None:
        """Take the broken template away again."""
        mended = {"metadata": {"annotations": None}, "spec": spec}
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": mended}})

    async def until(self, reason: str) -> None:
        """Let time pass until the rollout tells that it is so."""
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
