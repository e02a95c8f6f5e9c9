"""What a gardenlet would do to Shoots, played: they come up, follow changes and moves, and go.

It writes only what it plays, and nothing over what somebody else wrote: a condition, an operation
or a field of the status that has another author stays as it is, until that author takes it away.
"""

from datetime import timedelta
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli.dev import playing
from webhook.cli.dev.authorship import Authors
from webhook.cli.dev.playing import DARK, FAIL, MARK, ZONE, Reports, add
from webhook.domain import ha
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.snapshot import Snapshot

PACE: Final = timedelta(seconds=3)
"""How long an operation on a shoot takes."""

SHOOT_CONDITIONS: Final = (
    names.API_SERVER_AVAILABLE,
    names.CONTROL_PLANE_HEALTHY,
    names.OBSERVABILITY_COMPONENTS_HEALTHY,
    names.EVERY_NODE_READY,
    names.SYSTEM_COMPONENTS_HEALTHY,
)

_HEALTHY: Final = "healthy"
_UNHEALTHY: Final = "unhealthy"
_VERDICTS: Final = {_HEALTHY: "True", _UNHEALTHY: "False"}
_AGAIN: Final = (names.OPERATION_RECONCILE, names.OPERATION_RETRY)
_SHOOT: Final = kind_of_model(Shoot)


def plan_shoot(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Bring a shoot up on its seed, follow changes and moves, and let it go."""
    seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name)) if shoot.spec.seed_name else None
    part = _Part(shoot, snapshot)
    if shoot.is_deleting:
        return part.let_go(has_seed=seed is not None)
    if seed is None or playing.simulated(seed) == DARK:
        return NOTHING
    if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
        finalizers = [*shoot.metadata.finalizers, names.GARDENER_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        # A Gardener adds its own at the same time: the list must still be the one that was read.
        return Plan((Patch(_SHOOT, shoot.key, change, shoot.uid, shoot.resource_version),), 0)
    return part.play(_is_healthy(shoot, seed))


class _Part:
    """The part that is played for one shoot, as far as its status is nobody else's."""

    def __init__(self, shoot: Shoot, snapshot: Snapshot) -> None:
        self._shoot = shoot
        self._now = snapshot.taken_at
        self._operation = shoot.status.last_operation
        self._raw: Raw = snapshot.raw(Shoot, shoot.key) or msgspec.to_builtins(shoot)
        self._authors = Authors(self._raw)
        # A real Gardener's controller-manager derives the label itself.
        self._labels = not snapshot.options.beside_gardener

    def play(self, healthy: bool) -> Plan:
        """Do what comes next."""
        if self._is_due():
            return self._begin()
        if self._is_under_way():
            return self._finish(healthy)
        return self._watch_health(healthy)

    def _may_write(self, field: str) -> bool:
        return self._authors.may_write("status", field)

    def _is_handed_over(self) -> bool:
        """Tell whether the operation is ours to write: there is none, it waits, or it was ours."""
        operation = self._operation
        if operation is None or operation.state == "Pending":
            return True
        return MARK in operation.description and self._may_write("lastOperation")

    def _is_due(self) -> bool:
        """Tell whether the shoot asks for something that no operation has taken up."""
        if not self._is_handed_over():
            return False
        shoot, status = self._shoot, self._shoot.status
        if self._operation is None or self._operation.state == "Pending":
            return True
        changed = status.observed_generation != shoot.metadata.generation
        if changed and self._may_write("observedGeneration"):
            return True
        # Whoever gave up begins again for nothing but a retry.
        again = _AGAIN[1:] if self._operation.state == "Failed" else _AGAIN
        if shoot.metadata.annotations.get(names.OPERATION) in again:
            return True
        moved = status.seed_name != shoot.spec.seed_name and self._may_write("seedName")
        return moved and not self._is_under_way()

    def _is_under_way(self) -> bool:
        operation = self._operation
        return operation is not None and operation.state == "Processing" and self._is_handed_over()

    def _begin(self) -> Plan:
        shoot = self._shoot
        operation = "Create"
        if shoot.status.seed_name:
            operation = "Reconcile" if shoot.status.seed_name == shoot.spec.seed_name else "Migrate"
        started = playing.operation(operation, "Processing", self._now, progress=10)
        word = self._last_word()
        started["description"] += f", {word}, {MARK}" if word else f", {MARK}"
        change: Draft = {
            "lastOperation": started,
            "observedGeneration": shoot.metadata.generation,
        }
        if operation == "Create":
            change["seedName"] = shoot.spec.seed_name
            project = shoot.namespace.removeprefix("garden-")
            change["technicalID"] = f"shoot--{project}--{shoot.name}"
            change["uid"] = shoot.uid
        taken_up: Draft = {"annotations": {names.OPERATION: None}, **self._label("progressing")}
        metadata = _patch(shoot, {"metadata": taken_up})
        return Plan((*self._written(change), metadata), PACE.total_seconds())

    def _finish(self, healthy: bool) -> Plan:
        operation = self._operation
        left = PACE - playing.age(operation.last_update_time if operation else "", self._now)
        if left > timedelta(0):
            return Plan(requeue_after=left.total_seconds())
        failed = playing.simulated(self._shoot) == FAIL
        return self._conclude(
            playing.operation(
                operation.type if operation else "Reconcile",
                "Failed" if failed else "Succeeded",
                self._now,
                progress=50 if failed else 100,
            ),
            healthy,
        )

    def _watch_health(self, healthy: bool) -> Plan:
        """Follow failures that are switched on and off without a new operation.

        What was played last stands in the description, so that nothing is written unless the play
        itself changes: a health that somebody else reports meanwhile stays.
        """
        operation = self._operation
        if operation is None or not self._is_handed_over():
            return NOTHING
        if f", {_word(healthy)}, {MARK}" in operation.description:
            return NOTHING
        again = playing.operation(operation.type, operation.state, self._now)
        return self._conclude(again, healthy)

    def _conclude(self, operation: Draft, healthy: bool) -> Plan:
        """Write how an operation ended; conditions of other types stay, whoever set them."""
        operation["description"] = f"{operation['description']}, {_word(healthy)}, {MARK}"
        failed = operation["state"] == "Failed"
        said = {
            "lastOperation": operation,
            "seedName": self._shoot.spec.seed_name,
            "lastErrors": [{"description": f"told to fail, {MARK}"}] if failed else [],
        }
        steps = [
            add(f"/status/{field}", value)
            for field, value in said.items()
            if self._may_write(field)
        ]
        reports = Reports(self._raw, self._authors, _VERDICTS.get(self._last_word(), ""))
        steps += reports.set(SHOOT_CONDITIONS, _VERDICTS[_word(healthy)], self._now)
        shoot, version = self._shoot, self._shoot.resource_version
        status = Patch(_SHOOT, shoot.key, steps, shoot.uid, version, subresource="status")
        label = self._label(_word(healthy))
        return Plan((status, *([_patch(shoot, {"metadata": label})] if label else [])))

    def let_go(self, *, has_seed: bool) -> Plan:
        """Play the deletion, then take the finalizer away."""
        shoot, operation = self._shoot, self._operation
        if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
            return NOTHING
        deleting = operation is not None and operation.type == "Delete"
        ours = self._is_handed_over()
        if deleting and not ours:
            return NOTHING
        if has_seed and not deleting and ours:
            started = self._deletion("Processing", progress=10)
            return Plan(tuple(started), PACE.total_seconds())
        left = timedelta(0)
        if operation is not None and deleting:
            left = PACE - playing.age(operation.last_update_time, self._now)
        if left > timedelta(0):
            return Plan(requeue_after=left.total_seconds())
        kept = [name for name in shoot.metadata.finalizers if name != names.GARDENER_FINALIZER]
        gone = _patch(shoot, {"metadata": {"finalizers": kept}})
        # A real Gardener lets the finalizer go only after a deletion that succeeded.
        return Plan((*self._deletion("Succeeded"), gone) if ours else (gone,))

    def _deletion(self, state: str, progress: int = 100) -> list[Patch]:
        operation = playing.operation("Delete", state, self._now, progress)
        operation["description"] += f", {MARK}"
        return self._written({"lastOperation": operation})

    def _written(self, change: Draft) -> list[Patch]:
        """Write an operation, and what goes with it but for fields that somebody else wrote.

        One that waited is taken away first, so that no part of ours is still its author's.
        """
        waited = self._operation is not None and not self._may_write("lastOperation")
        ours = {
            field: value
            for field, value in change.items()
            if field == "lastOperation" or self._may_write(field)
        }
        version = self._shoot.resource_version
        if not waited:
            return [_merge(self._shoot, ours, version)]
        return [_merge(self._shoot, {"lastOperation": None}, version), _merge(self._shoot, ours)]

    def _label(self, word: str) -> Draft:
        path = ("metadata", "labels", names.SHOOT_STATUS)
        may_write = self._labels and self._authors.may_write(*path)
        return {"labels": {names.SHOOT_STATUS: word}} if may_write else {}

    def _last_word(self) -> str:
        """Return what was played last; empty before the first time."""
        described = self._operation.description if self._operation else ""
        words = (word for word in (_HEALTHY, _UNHEALTHY) if f", {word}, {MARK}" in described)
        return next(words, "")


def _is_healthy(shoot: Shoot, seed: Seed) -> bool:
    """A failed zone takes control planes down, all but those that are spread over zones."""
    hit = playing.simulated(seed).startswith(ZONE) and ha.effective(shoot).type != ha.MULTI_ZONE
    return not hit and playing.simulated(shoot) != FAIL


def _merge(shoot: Shoot, change: dict[str, Any], version: str = "") -> Patch:
    return Patch(_SHOOT, shoot.key, {"status": change}, shoot.uid, version, subresource="status")


def _patch(shoot: Shoot, change: Draft) -> Patch:
    return Patch(_SHOOT, shoot.key, change, shoot.uid)


def _word(healthy: bool) -> str:
    return _HEALTHY if healthy else _UNHEALTHY
