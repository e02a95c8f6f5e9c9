"""shoot.workers: worker pools are valid and the cloud profile offers what they use."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import workers
from webhook.admission.rules.workers import Pools
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.shoots import Shoot, ShootSpec
from webhook.api.workers import ShootWorker
from webhook.domain.shoots import cloud_profiles
from webhook.state.snapshot import Snapshot

_FIELD: Final = "spec.provider.workers"
_WORKERS_ADDED_OR_REMOVED: Final = Finding.forbidden(
    _FIELD,
    "workers cannot be added to a shoot without any, nor all be removed: create a new shoot",
)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Validate the pools by themselves, against the stored ones, and against the cloud profile."""
    shoot, stored = request.object_as(Shoot), request.old_as(Shoot)
    spec, old = shoot.spec, stored.spec if stored is not None else None
    new, before = spec.provider.workers, old.provider.workers if old is not None else ()
    is_moved = old is None or old.region != spec.region
    if new == before and not is_moved and not workers.is_any_short(new):
        return ()
    pools = Pools.of(new, before)
    found = [*workers.validate(pools, _FIELD, snapshot.options.admission.worker_rule)]
    if old is not None and bool(before) != bool(new):
        found.append(_WORKERS_ADDED_OR_REMOVED)
    if is_moved or not pools.are_unchanged:
        found += _against_profile(spec, pools, is_moved, request.key.namespace, snapshot)
    return found


def _against_profile(
    spec: ShootSpec, pools: Pools, is_moved: bool, namespace: str, snapshot: Snapshot
) -> Iterator[Finding]:
    profile = cloud_profiles.find(spec, namespace, snapshot.look_up)
    if profile is not None:
        yield from _validate_profile(pools, spec.region, profile, _FIELD, moved=is_moved)
        return
    named = cloud_profiles.reference(spec, namespace)
    if named is not None:
        yield Finding.warning(
            "spec.cloudProfile.name" if spec.cloud_profile else "spec.cloudProfileName",
            f"{named[0].__name__} {named[1].name} does not exist, "
            "so zones and machine types were not checked",
        )


def _validate_profile(
    pools: Pools, region: str, profile: CloudProfileSpec, base: str, *, moved: bool = False
) -> Iterator[Finding]:
    """Validate new pools and those whose zones, machines or volumes changed; all if `moved`.

    What a profile no longer offers stays allowed where it is in use.
    """
    for index in range(len(pools.workers)) if moved else pools.changed:
        worker = pools.workers[index]
        before = None if moved else pools.stored.get(worker.name)
        field = f"{base}[{index}]"
        if before is None or before.zones != worker.zones:
            yield from _zones(worker, region, profile, field)
        if before is None or _uses_other_types(before, worker):
            yield from _unavailable_types(worker, region, profile, field)
            yield from _unknown_machine_type(worker, profile, field)
    if moved and _is_unknown_region(region, pools.workers, profile):
        known = [each.name for each in profile.regions]
        yield Finding.not_supported("spec.region", region, known)
    if profile.limits is not None and profile.limits.max_nodes_total is not None:
        yield from _total(pools.workers, profile.limits.max_nodes_total, base)


def _is_unknown_region(
    region: str, workers: Sequence[ShootWorker], profile: CloudProfileSpec
) -> bool:
    """Return whether pools have zones in a region that the profile does not offer."""
    zoned = any(worker.zones for worker in workers)
    return zoned and all(each.name != region for each in profile.regions)


def _uses_other_types(before: ShootWorker, worker: ShootWorker) -> bool:
    return (
        before.zones != worker.zones
        or before.machine.type != worker.machine.type
        or (
            (before.volume, before.data_volumes) != (worker.volume, worker.data_volumes)
            and _volume_types(before) != _volume_types(worker)
        )
    )


def _volume_types(worker: ShootWorker) -> list[str]:
    volumes = (worker.volume, *worker.data_volumes)
    return [volume.type for volume in volumes if volume is not None]


def _zones(
    worker: ShootWorker, region: str, profile: CloudProfileSpec, field: str
) -> Iterator[Finding]:
    known = cloud_profiles.zones(profile, region)
    seen: set[str] = set()
    for index, zone in enumerate(worker.zones):
        path = f"{field}.zones[{index}]"
        if zone in seen:
            yield Finding.duplicate(path, zone, "name each zone once")
        seen.add(zone)
        if not known:
            yield Finding.invalid(
                path, zone, f"region {region} has no zones in the cloud profile, remove it"
            )
        elif zone not in known:
            yield Finding.not_supported(path, zone, sorted(known))


def _unavailable_types(
    worker: ShootWorker, region: str, profile: CloudProfileSpec, field: str
) -> Iterator[Finding]:
    """Reject machine and volume types that are unavailable in a zone."""
    volumes = [("volume", worker.volume)] if worker.volume is not None else []
    volumes += [(f"dataVolumes[{index}]", disk) for index, disk in enumerate(worker.data_volumes)]
    for zone in dict.fromkeys(worker.zones):
        lacks = cloud_profiles.unavailable_types(profile, region, zone)
        if worker.machine.type in lacks.machine_types:
            yield Finding.invalid(
                f"{field}.machine.type",
                worker.machine.type,
                f"zone {zone} does not have it, choose another type or leave the zone out",
            )
        for name, volume in volumes:
            if volume.type in lacks.volume_types:
                yield Finding.invalid(
                    f"{field}.{name}.type",
                    volume.type,
                    f"zone {zone} does not have it, choose another type or leave the zone out",
                )


def _unknown_machine_type(
    worker: ShootWorker, profile: CloudProfileSpec, field: str
) -> Iterator[Finding]:
    """Warn about a machine type that the profile does not list, probably a typo.

    No document requires to reject it.
    """
    known = {machine.name for machine in profile.machine_types}
    if known and worker.machine.type and worker.machine.type not in known:
        yield Finding.warning(
            f"{field}.machine.type",
            f"{worker.machine.type} is not in the cloud profile, which has {_some(known)}",
        )


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:5]) + (" and others" if len(shown) > 5 else "")


def _total(workers: Sequence[ShootWorker], limit: int, base: str) -> Iterator[Finding]:
    total = sum(worker.minimum for worker in workers)
    if total > limit:
        yield Finding.forbidden(
            base,
            f"the minimums of all pools sum to {total}, the cloud profile allows {limit} nodes",
        )
