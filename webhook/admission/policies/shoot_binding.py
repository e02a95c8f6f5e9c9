"""shoot.binding: changes of spec.seedName as Gardener allows them.

CRDs have no subresource `binding`; there our own scheduler may change `spec.seedName` directly.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api import names
from webhook.api.seeds import Seed, SeedDNSDomain
from webhook.api.shoots import Shoot
from webhook.domain.seeds import zones
from webhook.domain.shoots import ha
from webhook.kube.meta import ObjectKey
from webhook.state.snapshot import Snapshot

_FIELD: Final = "spec.seedName"


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Validate a change of the seed, or other changes of a shoot that has one."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if old is None:
        return ()
    before, after = old.spec.seed_name, shoot.spec.seed_name
    if before == after:
        return _validate_other_changes(request, shoot, old, snapshot) if after else ()
    if not request.subresource and request.user.username != snapshot.options.user:
        return (Finding.denied("can only be changed through shoots/binding", _FIELD),)
    return _validate_move(request, shoot, old, snapshot) if before and after else ()


def _validate_move(
    request: Request, shoot: Shoot, old: Shoot, snapshot: Snapshot
) -> Iterator[Finding]:
    """Reject what would prevent the migration of the control plane to another seed."""
    if request.subresource and _changed_fields(request) - {"seedName"}:
        yield Finding.denied("no other field may change with the seed", _FIELD)
    source = snapshot.look_up(Seed, ObjectKey("", old.spec.seed_name))
    target = snapshot.look_up(Seed, ObjectKey("", shoot.spec.seed_name))
    if source is None or target is None:
        return
    for seed in (source, target):
        if seed.spec.backup is None:
            yield _refused(f"seed {seed.name} has no backup, which a migration needs")
    internal = target.spec.dns.internal
    if _domain(source.spec.dns.internal) != _domain(internal):
        yield _refused(f"seed {target.name} has another internal domain than {source.name}")
    if not _serves(target, shoot, source):
        yield _refused(f"seed {target.name} lacks the default domain that the shoot uses")


def _refused(why: str) -> Finding:
    return Finding.denied(why, _FIELD)


def _domain(domain: SeedDNSDomain | None) -> str:
    return domain.domain if domain is not None else ""


def _serves(target: Seed, shoot: Shoot, source: Seed) -> bool:
    """Return whether the target serves the default domain, if any, of the shoot's domain."""
    own = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    used = {each.domain for each in source.spec.dns.defaults if own.endswith(f".{each.domain}")}
    return not used or bool(used & {each.domain for each in target.spec.dns.defaults})


def _validate_other_changes(
    request: Request, shoot: Shoot, old: Shoot, snapshot: Snapshot
) -> Iterator[Finding]:
    """Reject changes during a migration and on a seed that is being deleted."""
    is_changed = bool(_changed_fields(request))
    if is_changed and _is_migrating(shoot):
        yield Finding.denied("cannot change until the migration of the shoot has finished", "spec")
    seed = snapshot.look_up(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is None:
        return
    if ha.effective(shoot).type == ha.MULTI_ZONE and not zones.is_multi_zonal(seed):
        yield Finding.denied(
            f"seed {seed.name} of the shoot is not multi-zonal: move the shoot to one that is, "
            "through shoots/binding, first",
            "spec.controlPlane.highAvailability.failureTolerance.type",
        )
    if not seed.is_deleting:
        return
    if is_changed:
        yield Finding.denied(f"cannot change any more: seed {seed.name} is being deleted", "spec")
    if _annotations(shoot) != _annotations(old):
        yield Finding.denied(
            f"seed {seed.name} is being deleted: only {names.DELETION_CONFIRMATION} may change",
            "metadata.annotations",
        )


def _changed_fields(request: Request) -> set[str]:
    """Return the fields of the spec that change, also those that no rule reads."""
    new, old = request.raw().get("spec") or {}, (request.old_raw() or {}).get("spec") or {}
    return {key for key in {*new, *old} if new.get(key) != old.get(key)}


def _is_migrating(shoot: Shoot) -> bool:
    operation, there = shoot.status.last_operation, shoot.status.seed_name
    if operation is None:
        return False
    is_elsewhere = bool(there) and there != shoot.spec.seed_name
    is_restored = operation.type == "Restore" and operation.state != "Succeeded"
    return is_elsewhere or is_restored or operation.type == "Migrate"


def _annotations(shoot: Shoot) -> dict[str, str]:
    return {
        key: value
        for key, value in shoot.metadata.annotations.items()
        if key != names.DELETION_CONFIRMATION
    }
