"""What a gardenlet would do, played: seeds that report, shoots that come up, move and go.

It writes only what it plays, and nothing over what somebody else wrote: a condition or an
operation without its mark is left as it is, until the object itself asks for a new operation.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from webhook import __version__
from webhook.api import conditions, names
from webhook.api.conditions import Condition
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import TimestampError, format_micro_time, format_time, parse_time
from webhook.domain import ha
from webhook.runtime.actions import NOTHING, Action, Create, Patch, Plan
from webhook.state.indexes import SHOOTS_BY_SEED
from webhook.state.snapshot import Snapshot

MARK: Final = "played by the local provider"
PACE: Final = timedelta(seconds=3)
"""How long an operation on a shoot takes."""
KUBERNETES_VERSION: Final = "1.36.1"
LEASE_SECONDS: Final = 40
RENEW_SECONDS: Final = 10

DARK: Final = "dark"
"""On a Seed: its gardenlet is silent."""
ZONE: Final = "zone="
"""On a Seed, with a zone's name: that zone has failed."""
FAIL: Final = "fail"
"""On a Shoot: it cannot be reconciled."""

SEED_CONDITIONS: Final = (
    names.GARDENLET_READY,
    names.SEED_SYSTEM_COMPONENTS_HEALTHY,
    names.BACKUP_BUCKETS_READY,
    names.EXTENSIONS_READY,
)
GARDENLETS_OWN: Final = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
"""What gardenlets themselves report; the rest a real Gardener's controllers write."""
SHOOT_CONDITIONS: Final = (
    names.API_SERVER_AVAILABLE,
    names.CONTROL_PLANE_HEALTHY,
    names.OBSERVABILITY_COMPONENTS_HEALTHY,
    names.EVERY_NODE_READY,
    names.SYSTEM_COMPONENTS_HEALTHY,
)

_HEALTHY: Final = "healthy"
_UNHEALTHY: Final = "unhealthy"
_AGAIN: Final = (names.OPERATION_RECONCILE, names.OPERATION_RETRY)
_SEED: Final = kind_of_model(Seed)
_SHOOT: Final = kind_of_model(Shoot)
_LEASE: Final = kind_of_model(Lease)


def plan_seed(seed: Seed, snapshot: Snapshot) -> Plan:
    """Renew the seed's lease and report that it is ready, or fall silent when it is dark."""
    if seed.is_deleting:
        return _plan_farewell(seed, snapshot)
    now = snapshot.taken_at
    dark = _simulated(seed) == DARK
    status = "Unknown" if dark else "True"
    actions: list[Action] = []
    if not dark:
        actions += _renew(seed, snapshot)
    beside = snapshot.options.beside_gardener
    types = GARDENLETS_OWN if beside else SEED_CONDITIONS
    # A real Gardener takes a silent gardenlet for lost and says so itself: whoever is back says
    # that, too.
    change = _reported(seed.status.conditions, types, status, now, insists=beside and not dark)
    if not dark and seed.status.observed_generation != seed.metadata.generation:
        change["observedGeneration"] = seed.metadata.generation
    if not dark and seed.status.last_operation is None:
        operation = _operation("Reconcile", "Succeeded", now)
        change["lastOperation"] = operation | {"description": MARK}
        change["kubernetesVersion"] = KUBERNETES_VERSION
        change["gardener"] = {"id": seed.uid, "name": "local-provider", "version": __version__}
    if change:
        actions.append(Patch(_SEED, seed.key, {"status": change}, seed.uid, subresource="status"))
    return Plan(tuple(actions), RENEW_SECONDS)


def _plan_farewell(seed: Seed, snapshot: Snapshot) -> Plan:
    """Let a deleted seed go once no shoot needs it any more."""
    finalizers = [name for name in seed.metadata.finalizers if name != names.GARDENER_FINALIZER]
    if len(finalizers) == len(seed.metadata.finalizers):
        return NOTHING
    if snapshot.by_index(SHOOTS_BY_SEED, seed.name):
        return Plan(requeue_after=RENEW_SECONDS)
    return Plan((Patch(_SEED, seed.key, {"metadata": {"finalizers": finalizers}}, seed.uid),))


def _renew(seed: Seed, snapshot: Snapshot) -> list[Action]:
    key = ObjectKey(names.SEED_LEASE_NAMESPACE, seed.name)
    stamp = format_micro_time(snapshot.taken_at)
    lease = snapshot.get(Lease, key)
    if lease is None:
        spec = {
            "holderIdentity": seed.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": stamp,
            "renewTime": stamp,
        }
        owner = {
            "apiVersion": _SEED.api_version,
            "kind": _SEED.name,
            "name": seed.name,
            "uid": seed.uid,
        }
        metadata = {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner]}
        return [Create(_LEASE, {"metadata": metadata, "spec": spec})]
    if _age(lease.spec.renew_time or "", snapshot.taken_at) < timedelta(seconds=RENEW_SECONDS):
        return []
    return [Patch(_LEASE, key, {"spec": {"renewTime": stamp}}, lease.uid)]


def plan_shoot(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Bring a shoot up on its seed, follow changes and moves, and let it go."""
    seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name)) if shoot.spec.seed_name else None
    if shoot.is_deleting:
        return _plan_deletion(shoot, seed, snapshot.taken_at)
    if seed is None or _simulated(seed) == DARK:
        return NOTHING
    if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
        finalizers = [*shoot.metadata.finalizers, names.GARDENER_FINALIZER]
        return Plan((_patch(shoot, {"metadata": {"finalizers": finalizers}}),), 0)
    return _unlabelled(_play(shoot, seed, snapshot.taken_at), snapshot)


def _play(shoot: Shoot, seed: Seed, now: datetime) -> Plan:
    if _is_due(shoot):
        return _begin(shoot, now)
    if _is_under_way(shoot):
        return _finish(shoot, seed, now)
    return _watch_health(shoot, seed, now)


def _unlabelled(plan: Plan, snapshot: Snapshot) -> Plan:
    """Leave the status label to a real Gardener: its controller-manager derives it."""
    if not snapshot.options.beside_gardener:
        return plan
    return plan._replace(
        actions=tuple(
            action
            for action in plan.actions
            if not (isinstance(action, Patch) and _is_label(action.change))
        )
    )


def _is_label(change: Any) -> bool:
    return isinstance(change, dict) and "labels" in (change.get("metadata") or {})


def _is_due(shoot: Shoot) -> bool:
    """Tell whether the shoot asks for something that no operation has taken up."""
    status = shoot.status
    if status.last_operation is None or status.last_operation.state == "Pending":
        return True
    if status.observed_generation != shoot.metadata.generation:
        return True
    if shoot.metadata.annotations.get(names.OPERATION) in _AGAIN:
        return True
    return status.seed_name != shoot.spec.seed_name and not _is_under_way(shoot)


def _is_under_way(shoot: Shoot) -> bool:
    operation = shoot.status.last_operation
    return (
        operation is not None and operation.state == "Processing" and MARK in operation.description
    )


def _begin(shoot: Shoot, now: datetime) -> Plan:
    operation = "Create"
    if shoot.status.seed_name:
        operation = "Reconcile" if shoot.status.seed_name == shoot.spec.seed_name else "Migrate"
    started = _operation(operation, "Processing", now, progress=10)
    word = _last_word(shoot)
    started["description"] += f", {word}, {MARK}" if word else f", {MARK}"
    change: Draft = {
        "lastOperation": started,
        "observedGeneration": shoot.metadata.generation,
    }
    if operation == "Create":
        change["seedName"] = shoot.spec.seed_name
        change["technicalID"] = f"shoot--{shoot.namespace.removeprefix('garden-')}--{shoot.name}"
        change["uid"] = shoot.uid
    taken_up = _labelled("progressing")
    taken_up["metadata"]["annotations"] = {names.OPERATION: None}
    return Plan((_status(shoot, change), _patch(shoot, taken_up)), PACE.total_seconds())


def _finish(shoot: Shoot, seed: Seed, now: datetime) -> Plan:
    operation = shoot.status.last_operation
    left = PACE - _age(operation.last_update_time if operation else "", now)
    if left > timedelta(0):
        return Plan(requeue_after=left.total_seconds())
    failed = _simulated(shoot) == FAIL
    return _conclude(
        shoot,
        _operation(
            operation.type if operation else "Reconcile",
            "Failed" if failed else "Succeeded",
            now,
            progress=50 if failed else 100,
        ),
        _is_healthy(shoot, seed),
        now,
    )


def _watch_health(shoot: Shoot, seed: Seed, now: datetime) -> Plan:
    """Follow failures that are switched on and off without a new operation.

    What was played last stands in the description, so that nothing is written unless the play
    itself changes: a health that somebody else reports meanwhile stays.
    """
    operation = shoot.status.last_operation
    healthy = _is_healthy(shoot, seed)
    if operation is None or MARK not in operation.description:
        return NOTHING
    if f", {_word(healthy)}, {MARK}" in operation.description:
        return NOTHING
    return _conclude(shoot, _operation(operation.type, operation.state, now), healthy, now)


def _conclude(shoot: Shoot, operation: Draft, healthy: bool, now: datetime) -> Plan:
    """Write how an operation ended; conditions of other types stay, whoever set them."""
    operation["description"] = f"{operation['description']}, {_word(healthy)}, {MARK}"
    failed = operation["state"] == "Failed"
    errors = [{"description": f"told to fail, {MARK}"}] if failed else []
    ops = [
        _add("/status/lastOperation", operation),
        _add("/status/seedName", shoot.spec.seed_name),
        _add("/status/lastErrors", errors),
        *_reports(shoot, healthy, now),
    ]
    version = shoot.resource_version
    status = Patch(_SHOOT, shoot.key, ops, shoot.uid, version, subresource="status")
    return Plan((status, _patch(shoot, _labelled(_word(healthy)))))


def _reports(shoot: Shoot, healthy: bool, now: datetime) -> list[Draft]:
    places = {each.type: place for place, each in enumerate(shoot.status.conditions)}
    # Only the verdicts of conditions are in memory: one that was not played last is not ours.
    last = {_HEALTHY: "True", _UNHEALTHY: "False"}.get(_last_word(shoot))
    foreign = {each.type for each in shoot.status.conditions if each.status != last}
    reports = []
    for condition_type in SHOOT_CONDITIONS:
        if condition_type in foreign:
            continue
        drafts: list[Draft] = []
        conditions.set(
            drafts,
            condition_type,
            "True" if healthy else "False",
            reason="LocalProvider",
            message=MARK,
            now=now,
        )
        reports.append((places.get(condition_type), drafts[0]))
    if not places:
        return [_add("/status/conditions", [report for _, report in reports])]
    return [
        _add("/status/conditions/-", report)
        if place is None
        else {"op": "replace", "path": f"/status/conditions/{place}", "value": report}
        for place, report in reports
    ]


def _plan_deletion(shoot: Shoot, seed: Seed | None, now: datetime) -> Plan:
    if names.GARDENER_FINALIZER not in shoot.metadata.finalizers:
        return NOTHING
    operation = shoot.status.last_operation
    deleting = operation is not None and operation.type == "Delete"
    if seed is not None and not deleting:
        change = {"lastOperation": _operation("Delete", "Processing", now, progress=10)}
        return Plan((_status(shoot, change),), PACE.total_seconds())
    left = PACE - _age(operation.last_update_time, now) if operation and deleting else timedelta(0)
    if left > timedelta(0):
        return Plan(requeue_after=left.total_seconds())
    finalizers = [name for name in shoot.metadata.finalizers if name != names.GARDENER_FINALIZER]
    # A real Gardener lets the finalizer go only after a deletion that succeeded.
    done = _status(shoot, {"lastOperation": _operation("Delete", "Succeeded", now)})
    return Plan((done, _patch(shoot, {"metadata": {"finalizers": finalizers}})))


def _last_word(shoot: Shoot) -> str:
    """Return what was played last; empty before the first time."""
    operation = shoot.status.last_operation
    described = operation.description if operation else ""
    words = (word for word in (_HEALTHY, _UNHEALTHY) if f", {word}, {MARK}" in described)
    return next(words, "")


def _is_healthy(shoot: Shoot, seed: Seed) -> bool:
    """A failed zone takes control planes down, all but those that are spread over zones."""
    hit = _simulated(seed).startswith(ZONE) and ha.effective(shoot).type != ha.MULTI_ZONE
    return not hit and _simulated(shoot) != FAIL


def _reported(
    known: tuple[Condition, ...],
    types: tuple[str, ...],
    status: str,
    now: datetime,
    *,
    insists: bool,
) -> Draft:
    """Set the conditions that are played; others' are sent along unchanged."""
    drafts: list[dict[str, Any]] = [_draft(condition) for condition in known]
    changed = False
    for condition_type in types:
        found = conditions.get(known, condition_type)
        if found is not None and MARK not in found.message and not insists:
            continue
        changed |= conditions.set(
            drafts, condition_type, status, reason="LocalProvider", message=MARK, now=now
        )
    return {"conditions": drafts} if changed else {}


def _draft(condition: Condition) -> Draft:
    draft: Draft = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
        "lastUpdateTime": condition.last_update_time,
    }
    if condition.codes:
        draft["codes"] = list(condition.codes)
    return {key: value for key, value in draft.items() if value is not None}


def _operation(kind: str, state: str, now: datetime, progress: int = 100) -> Draft:
    return {
        "type": kind,
        "state": state,
        "progress": progress,
        "description": f"{kind} {state.lower()}",
        "lastUpdateTime": format_time(now),
    }


def _add(path: str, value: Any) -> Draft:
    return {"op": "add", "path": path, "value": value}


def _status(shoot: Shoot, change: Draft) -> Patch:
    return Patch(_SHOOT, shoot.key, {"status": change}, shoot.uid, subresource="status")


def _patch(shoot: Shoot, change: Draft) -> Patch:
    return Patch(_SHOOT, shoot.key, change, shoot.uid)


def _labelled(word: str) -> Draft:
    return {"metadata": {"labels": {names.SHOOT_STATUS: word}}}


def _word(healthy: bool) -> str:
    return _HEALTHY if healthy else _UNHEALTHY


def _simulated(obj: Seed | Shoot) -> str:
    return obj.metadata.annotations.get(names.SIMULATE, "")


def _age(stamp: str, now: datetime) -> timedelta:
    try:
        return now - parse_time(stamp)
    except TimestampError:
        return timedelta.max
