"""Simulates what a gardenlet does to Shoots: create, reconcile, migrate and delete them.

A condition, an operation or a status field of another field manager is never overwritten: it stays
as it is until that manager removes it.
"""

from datetime import timedelta
from typing import Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.localprovider import simulation
from webhook.dev.localprovider.finalizers import add_finalizer, remove_finalizer
from webhook.dev.localprovider.managedfields import FieldOwners
from webhook.dev.localprovider.simulation import DARK, FAIL, MARK, ZONE, SimulatedConditions, add
from webhook.domain.shoots import ha
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.snapshot import Snapshot

OPERATION_DURATION: Final = timedelta(seconds=3)
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
_CONDITION_STATUS: Final = {_HEALTHY: "True", _UNHEALTHY: "False"}
_TRIGGERS: Final = (names.OPERATION_RECONCILE, names.OPERATION_RETRY)
"""Values of the operation annotation that start an operation."""

_SHOOT: Final = kind_of_model(Shoot)


def plan_shoot(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Take the next step of a shoot's operation on its seed, or of its deletion."""
    seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name)) if shoot.spec.seed_name else None
    lifecycle = _Lifecycle(shoot, snapshot)
    if shoot.is_deleting:
        return lifecycle.delete(has_seed=seed is not None)
    if seed is None or simulation.simulated(seed) == DARK:
        return NOTHING
    if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
        return Plan((add_finalizer(_SHOOT, shoot, names.GARDENER_FINALIZER),), 0)
    return lifecycle.next_step(healthy=_is_healthy(shoot, seed))


class _Lifecycle:
    """The operations of one shoot, as far as no other manager owns its status."""

    def __init__(self, shoot: Shoot, snapshot: Snapshot) -> None:
        self._shoot = shoot
        self._now = snapshot.taken_at
        self._operation = shoot.status.last_operation
        self._raw: Raw = snapshot.raw(Shoot, shoot.key) or msgspec.to_builtins(shoot)
        self._owners = FieldOwners(self._raw)
        # Beside a real Gardener, its controller-manager sets the label.
        self._sets_label = not snapshot.options.beside_gardener

    def next_step(self, *, healthy: bool) -> Plan:
        """Start or finish an operation, or follow a change of health."""
        if self._is_due():
            return self._start()
        if self._is_processing():
            return self._finish(healthy)
        return self._update_health(healthy)

    def _may_write(self, field: str) -> bool:
        return self._owners.may_write("status", field)

    def _owns_operation(self) -> bool:
        """Return whether the operation may be written: none, one that is pending, or our own.

        Whoever wrote a pending one waits for a gardenlet.
        """
        operation = self._operation
        if operation is None or operation.state == "Pending":
            return True
        return MARK in operation.description and self._may_write("lastOperation")

    def _is_due(self) -> bool:
        """Return whether a new operation has to start."""
        if not self._owns_operation():
            return False
        shoot, status = self._shoot, self._shoot.status
        if self._operation is None or self._operation.state == "Pending":
            return True
        changed = status.observed_generation != shoot.metadata.generation
        if changed and self._may_write("observedGeneration"):
            return True
        # A failed operation starts again for a retry only.
        failed = self._operation.state == "Failed"
        triggers = (names.OPERATION_RETRY,) if failed else _TRIGGERS
        if shoot.metadata.annotations.get(names.OPERATION) in triggers:
            return True
        moved = status.seed_name != shoot.spec.seed_name and self._may_write("seedName")
        return moved and not self._is_processing()

    def _is_processing(self) -> bool:
        operation = self._operation
        return operation is not None and operation.state == "Processing" and self._owns_operation()

    def _start(self) -> Plan:
        shoot = self._shoot
        operation = "Create"
        if shoot.status.seed_name:
            operation = "Reconcile" if shoot.status.seed_name == shoot.spec.seed_name else "Migrate"
        started = simulation.operation(operation, "Processing", self._now, progress=10)
        health = self._last_health()
        started["description"] += f", {health}, {MARK}" if health else f", {MARK}"
        change: Draft = {
            "lastOperation": started,
            "observedGeneration": shoot.metadata.generation,
        }
        if operation == "Create":
            change["seedName"] = shoot.spec.seed_name
            project = shoot.namespace.removeprefix("garden-")
            change["technicalID"] = f"shoot--{project}--{shoot.name}"
            change["uid"] = shoot.uid
        metadata: Draft = {"annotations": {names.OPERATION: None}, **self._label("progressing")}
        patch = _patch(shoot, {"metadata": metadata})
        return Plan((*self._write_status(change), patch), OPERATION_DURATION.total_seconds())

    def _finish(self, healthy: bool) -> Plan:
        operation = self._operation
        left = OPERATION_DURATION - simulation.age(
            operation.last_update_time if operation else "", self._now
        )
        if left > timedelta(0):
            return Plan(requeue_after=left.total_seconds())
        failed = simulation.simulated(self._shoot) == FAIL
        return self._report(
            simulation.operation(
                operation.type if operation else "Reconcile",
                "Failed" if failed else "Succeeded",
                self._now,
                progress=50 if failed else 100,
            ),
            healthy,
        )

    def _update_health(self, healthy: bool) -> Plan:
        """Report a failure that was switched on or off since the last operation.

        The description holds the health that was reported last. Without a change of it nothing is
        written, so that a health which another manager reports meanwhile stays.
        """
        operation = self._operation
        if operation is None or not self._owns_operation():
            return NOTHING
        if f", {_health(healthy)}, {MARK}" in operation.description:
            return NOTHING
        updated = simulation.operation(operation.type, operation.state, self._now)
        return self._report(updated, healthy)

    def _report(self, operation: Draft, healthy: bool) -> Plan:
        """Write the result of an operation, with conditions and label; other conditions stay."""
        operation["description"] = f"{operation['description']}, {_health(healthy)}, {MARK}"
        failed = operation["state"] == "Failed"
        fields = {
            "lastOperation": operation,
            "seedName": self._shoot.spec.seed_name,
            "lastErrors": [{"description": f"failure requested by annotation, {MARK}"}]
            if failed
            else [],
        }
        patch = [
            add(f"/status/{field}", value)
            for field, value in fields.items()
            if self._may_write(field)
        ]
        last = _CONDITION_STATUS.get(self._last_health(), "")
        simulated = SimulatedConditions(self._raw, self._owners, last)
        patch += simulated.set(SHOOT_CONDITIONS, _CONDITION_STATUS[_health(healthy)], self._now)
        shoot, version = self._shoot, self._shoot.resource_version
        status = Patch(_SHOOT, shoot.key, patch, shoot.uid, version, subresource="status")
        label = self._label(_health(healthy))
        return Plan((status, *([_patch(shoot, {"metadata": label})] if label else [])))

    def delete(self, *, has_seed: bool) -> Plan:
        """Run the Delete operation, then remove the finalizer."""
        shoot, operation = self._shoot, self._operation
        if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
            return NOTHING
        deleting = operation is not None and operation.type == "Delete"
        owned = self._owns_operation()
        if deleting and not owned:
            return NOTHING
        if has_seed and not deleting and owned:
            started = self._write_deletion("Processing", progress=10)
            return Plan(tuple(started), OPERATION_DURATION.total_seconds())
        left = timedelta(0)
        if operation is not None and deleting:
            left = OPERATION_DURATION - simulation.age(operation.last_update_time, self._now)
        if left > timedelta(0):
            return Plan(requeue_after=left.total_seconds())
        removed = remove_finalizer(_SHOOT, shoot, names.GARDENER_FINALIZER, any_version=True)
        # Gardener removes the finalizer only after a deletion that succeeded.
        return Plan((*self._write_deletion("Succeeded"), removed) if owned else (removed,))

    def _write_deletion(self, state: str, progress: int = 100) -> list[Patch]:
        operation = simulation.operation("Delete", state, self._now, progress)
        operation["description"] += f", {MARK}"
        return self._write_status({"lastOperation": operation})

    def _write_status(self, change: Draft) -> list[Patch]:
        """Write an operation, and of the other fields those that no other manager owns.

        A pending operation of another manager is removed first, so that it owns no part of ours.
        """
        pending = self._operation is not None and not self._may_write("lastOperation")
        owned = {
            field: value
            for field, value in change.items()
            if field == "lastOperation" or self._may_write(field)
        }
        version = self._shoot.resource_version
        if not pending:
            return [_merge(self._shoot, owned, version)]
        return [_merge(self._shoot, {"lastOperation": None}, version), _merge(self._shoot, owned)]

    def _label(self, value: str) -> Draft:
        path = ("metadata", "labels", names.SHOOT_STATUS)
        may_write = self._sets_label and self._owners.may_write(*path)
        return {"labels": {names.SHOOT_STATUS: value}} if may_write else {}

    def _last_health(self) -> str:
        """Return the health that was reported last; empty before the first report."""
        description = self._operation.description if self._operation else ""
        found = (each for each in _CONDITION_STATUS if f", {each}, {MARK}" in description)
        return next(found, "")


def _is_healthy(shoot: Shoot, seed: Seed) -> bool:
    """Return whether neither the shoot nor, unless it spans zones, a zone of its seed fails."""
    zone_failed = (
        simulation.simulated(seed).startswith(ZONE) and ha.effective(shoot).type != ha.MULTI_ZONE
    )
    return not zone_failed and simulation.simulated(shoot) != FAIL


def _merge(shoot: Shoot, change: Draft, version: str = "") -> Patch:
    return Patch(_SHOOT, shoot.key, {"status": change}, shoot.uid, version, subresource="status")


def _patch(shoot: Shoot, change: Draft) -> Patch:
    return Patch(_SHOOT, shoot.key, change, shoot.uid)


def _health(healthy: bool) -> str:
    return _HEALTHY if healthy else _UNHEALTHY
