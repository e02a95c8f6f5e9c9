"""What a shoot costs of a quota, and what a quota's users cost together."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Final, NamedTuple

from webhook.api import quantity
from webhook.api.cloudprofiles import CloudProfileSpec, MachineStorage, MachineType
from webhook.api.meta import ObjectKey, Quantity
from webhook.api.projects import CredentialsBinding, Quota, SecretBinding
from webhook.api.quantity import QuantityError
from webhook.api.shoots import Shoot, ShootSpec
from webhook.api.workers import Worker
from webhook.domain import profiles
from webhook.domain.profiles import Find

CPU: Final = "cpu"
GPU: Final = "gpu"
MEMORY: Final = "memory"
STANDARD: Final = "storage.standard"
PREMIUM: Final = "storage.premium"
LOAD_BALANCER: Final = "loadbalancer"
METRICS: Final = (CPU, GPU, MEMORY, STANDARD, PREMIUM, LOAD_BALANCER)

_EXACT: Final = Context(prec=64)
_NOTHING: Final = Decimal(0)


class Cost(NamedTuple):
    """What a shoot costs, and what of it could not be told."""

    amounts: Mapping[str, Decimal]
    unknown: tuple[str, ...] = ()


def group(shoot: Shoot) -> str:
    """Name the binding that a shoot's quotas come from; empty without one."""
    spec = shoot.spec
    if spec.credentials_binding_name:
        return binding_group(CredentialsBinding, ObjectKey(shoot.namespace, _binding(spec)))
    if spec.secret_binding_name:
        return binding_group(SecretBinding, ObjectKey(shoot.namespace, _binding(spec)))
    return ""


def binding_group(model: type[SecretBinding | CredentialsBinding], key: ObjectKey) -> str:
    """Name the group that the shoots of a binding are counted in."""
    return f"{model.__name__}/{key}"


def _binding(spec: ShootSpec) -> str:
    return spec.credentials_binding_name or spec.secret_binding_name


def cost(spec: ShootSpec, offer: CloudProfileSpec | None) -> Cost:
    """Add up all pools at their maximum, and the load balancers.

    A machine or volume type that the profile does not know costs nothing here and is named.
    """
    prices = _prices(offer) if offer is not None else _FREE
    unknown: list[str] = []
    # Pools that are alike are multiplied once: shoots have many of them.
    machines: dict[str, int] = {}
    volumes: dict[tuple[str, Quantity], int] = {}
    for worker in spec.provider.workers:
        name, count = worker.machine.type, max(worker.maximum, 0)
        if name not in prices.machines:
            unknown.append(f"machine type {name} of pool {worker.name}")
            continue
        machines[name] = machines.get(name, 0) + count
        volume = _volume(worker, prices)
        if volume is None:
            unknown.append(f"volume of pool {worker.name}")
        else:
            volumes[volume] = volumes.get(volume, 0) + count
    sums = [_times(prices.machines[name].amounts, count) for name, count in machines.items()]
    for (metric, size), count in volumes.items():
        try:
            sums.append(_times({metric: quantity.parse(size)}, count))
        except QuantityError:
            unknown.append(f"volume size {size!r}")
    return Cost(total(({LOAD_BALANCER: Decimal(1 + _has_nginx(spec))}, *sums)), tuple(unknown))


class _Machine(NamedTuple):
    amounts: Mapping[str, Decimal]
    storage: MachineStorage | None = None


class _Prices(NamedTuple):
    """What one machine or volume of each type costs."""

    offer: CloudProfileSpec
    machines: Mapping[str, _Machine]
    classes: Mapping[str, str]


_FREE: Final = _Prices(CloudProfileSpec(), {}, {})
_PRICED: Final[dict[int, _Prices]] = {}
_MOST_PRICED: Final = 64


def _prices(offer: CloudProfileSpec) -> _Prices:
    """Read a profile's types once; it is asked for with every shoot that is counted."""
    found = _PRICED.get(id(offer))
    if found is not None and found.offer is offer:
        return found
    if len(_PRICED) >= _MOST_PRICED:
        _PRICED.clear()
    machines = {machine.name: _priced(machine) for machine in offer.machine_types}
    classes = {volume.name: volume.class_ for volume in offer.volume_types}
    found = _PRICED[id(offer)] = _Prices(offer, machines, classes)
    return found


def _priced(machine: MachineType) -> _Machine:
    """Read a machine type; an amount that cannot be read is not counted."""
    amounts = {}
    for metric, text in ((CPU, machine.cpu), (GPU, machine.gpu), (MEMORY, machine.memory)):
        try:
            amounts[metric] = quantity.parse(text)
        except QuantityError:
            continue
    return _Machine(amounts, machine.storage)


def _volume(worker: Worker, prices: _Prices) -> tuple[str, Quantity] | None:
    """Find the root volume; the machine type's own storage gives class and size if it has one."""
    storage, volume = prices.machines[worker.machine.type].storage, worker.volume
    size: Quantity | None = volume.size if volume is not None and volume.size else None
    if storage is not None:
        kind, size = storage.class_, size or storage.size
    else:
        kind = prices.classes.get(volume.type, "") if volume is not None else ""
    if size is None or not kind:
        return None
    return (PREMIUM if kind == "premium" else STANDARD), size


def _times(amounts: Mapping[str, Decimal], count: int) -> Mapping[str, Decimal]:
    factor = Decimal(count)
    return {metric: _EXACT.multiply(amount, factor) for metric, amount in amounts.items()}


def _has_nginx(spec: ShootSpec) -> bool:
    addons = spec.addons
    return bool(addons and addons.nginx_ingress and addons.nginx_ingress.enabled)


def cost_of(shoot: Shoot, find: Find) -> Mapping[str, Decimal]:
    """Return what a stored shoot costs."""
    return cost(shoot.spec, profiles.find(shoot.spec, shoot.namespace, find)).amounts


def total(parts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    """Add vectors up, exactly."""
    sums: dict[str, Decimal] = {}
    for part in parts:
        for metric, amount in part.items():
            sums[metric] = _EXACT.add(sums.get(metric, _NOTHING), amount)
    return sums


def subtract(whole: Mapping[str, Decimal], part: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Take one vector from another."""
    return {
        metric: _EXACT.subtract(amount, part.get(metric, _NOTHING))
        for metric, amount in whole.items()
    }


def is_checked(new: ShootSpec, old: ShootSpec | None) -> bool:
    """Tell whether a change may cost more: then, and only then, quotas are asked.

    Removing a pool alone never costs more.
    """
    if old is None or (_has_nginx(new) and not _has_nginx(old)):
        return True
    if new.provider.workers == old.provider.workers:
        return False
    stored = {worker.name: worker for worker in old.provider.workers}
    return any(
        before is None
        or before.machine.type != worker.machine.type
        or before.maximum != worker.maximum
        or before.volume != worker.volume
        for worker in new.provider.workers
        for before in (stored.get(worker.name),)
    )


def is_of_project(quota: Quota) -> bool:
    """Tell whether a quota counts one project's shoots, or all that use its credentials."""
    return quota.spec.scope.kind == "Project"
