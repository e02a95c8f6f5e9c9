"""Worker pools against what the cloud profile offers."""

from collections.abc import Iterator, Sequence

from webhook.admission.decision import Finding
from webhook.admission.rules.workers import Pools
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.workers import Worker
from webhook.domain import profiles


def judge(
    pools: Pools, region: str, offer: CloudProfileSpec, base: str, *, moved: bool = False
) -> Iterator[Finding]:
    """Judge new pools and those whose zones, machines or volumes changed; all, if they moved.

    What a profile no longer offers stays allowed where it is in use.
    """
    for index in range(len(pools.workers)) if moved else pools.changed:
        worker = pools.workers[index]
        before = None if moved else pools.stored.get(worker.name)
        field = f"{base}[{index}]"
        if before is None or before.zones != worker.zones:
            yield from _zones(worker, region, offer, field)
        if before is None or _demands_other(before, worker):
            yield from _lacking(worker, region, offer, field)
            yield from _unknown(worker, offer, field)
    if moved and _is_unknown(region, pools.workers, offer):
        known = [each.name for each in offer.regions]
        yield Finding.not_supported("spec.region", region, known)
    if offer.limits is not None and offer.limits.max_nodes_total is not None:
        yield from _total(pools.workers, offer.limits.max_nodes_total, base)


def _is_unknown(region: str, workers: Sequence[Worker], offer: CloudProfileSpec) -> bool:
    """Tell whether zones are asked of a region that is not on offer."""
    zoned = any(worker.zones for worker in workers)
    return zoned and all(each.name != region for each in offer.regions)


def _demands_other(before: Worker, worker: Worker) -> bool:
    return (
        before.zones != worker.zones
        or before.machine.type != worker.machine.type
        or (
            (before.volume, before.data_volumes) != (worker.volume, worker.data_volumes)
            and _volume_types(before) != _volume_types(worker)
        )
    )


def _volume_types(worker: Worker) -> list[str]:
    volumes = (worker.volume, *worker.data_volumes)
    return [volume.type for volume in volumes if volume is not None]


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


def _total(workers: Sequence[Worker], limit: int, base: str) -> Iterator[Finding]:
    total = sum(worker.minimum for worker in workers)
    if total > limit:
        yield Finding.forbidden(
            base,
            f"the minimums of all pools sum to {total}, the cloud profile allows {limit} nodes",
        )
