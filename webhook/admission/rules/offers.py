"""Worker pools against what the cloud profile offers."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.shoots import ShootSpec
from webhook.api.workers import Worker
from webhook.domain import profiles


def judge(
    spec: ShootSpec, old: ShootSpec | None, offer: CloudProfileSpec, base: str
) -> Iterator[Finding]:
    """Judge new pools and those whose zones, machines or volumes changed.

    What a profile no longer offers stays allowed where it is in use.
    """
    moved = old is None or old.region != spec.region
    stored = {worker.name: worker for worker in old.provider.workers} if old is not None else {}
    for index, worker in enumerate(spec.provider.workers):
        before = None if moved else stored.get(worker.name)
        if before == worker:
            continue
        field = f"{base}.provider.workers[{index}]"
        if before is None or before.zones != worker.zones:
            yield from _zones(worker, spec.region, offer, field)
        if before is None or _demand(before) != _demand(worker):
            yield from _lacking(worker, spec.region, offer, field)
            yield from _unknown(worker, offer, field)
    if moved and _is_unknown(spec, offer):
        known = [region.name for region in offer.regions]
        yield Finding.not_supported(f"{base}.region", spec.region, known)
    yield from _total(spec, offer, base)


def _is_unknown(spec: ShootSpec, offer: CloudProfileSpec) -> bool:
    """Tell whether zones are asked of a region that is not on offer."""
    zoned = any(worker.zones for worker in spec.provider.workers)
    return zoned and all(region.name != spec.region for region in offer.regions)


def _demand(worker: Worker) -> tuple[object, ...]:
    volumes = (worker.volume, *worker.data_volumes)
    types = tuple(volume.type for volume in volumes if volume is not None)
    return worker.zones, worker.machine.type, types


def _zones(worker: Worker, region: str, offer: CloudProfileSpec, field: str) -> Iterator[Finding]:
    known = profiles.zones(offer, region)
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


def _lacking(worker: Worker, region: str, offer: CloudProfileSpec, field: str) -> Iterator[Finding]:
    """Refuse machine and volume types that a zone does not have."""
    volumes = [("volume", worker.volume)] if worker.volume is not None else []
    volumes += [(f"dataVolumes[{index}]", disk) for index, disk in enumerate(worker.data_volumes)]
    for zone in dict.fromkeys(worker.zones):
        lacks = profiles.lacks(offer, region, zone)
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


def _unknown(worker: Worker, offer: CloudProfileSpec, field: str) -> Iterator[Finding]:
    """Point at a machine type that the profile does not list; a typo costs a failed cluster."""
    known = {machine.name for machine in offer.machine_types}
    if known and worker.machine.type and worker.machine.type not in known:
        yield Finding.warning(
            f"{field}.machine.type",
            f"{worker.machine.type} is not in the cloud profile, which has {_some(known)}",
        )


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:5]) + (" and others" if len(shown) > 5 else "")


def _total(spec: ShootSpec, offer: CloudProfileSpec, base: str) -> Iterator[Finding]:
    limit = offer.limits.max_nodes_total if offer.limits is not None else None
    total = sum(worker.minimum for worker in spec.provider.workers)
    if limit is not None and total > limit:
        yield Finding.forbidden(
            f"{base}.provider.workers",
            f"the minimums of all pools sum to {total}, the cloud profile allows {limit} nodes",
        )
