"""What a shoot costs of a quota, and what a quota's users cost together."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Final, NamedTuple

from webhook.api import quantity
from webhook.api.cloudprofiles import CloudProfileSpec, MachineType
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
    amounts: dict[str, Decimal] = {LOAD_BALANCER: Decimal(1 + _has_nginx(spec))}
    unknown: list[str] = []
    machines = {found.name: found for found in offer.machine_types} if offer is not None else {}
    for worker in spec.provider.workers:
        machine = machines.get(worker.machine.type)
        if machine is None:
            unknown.append(f"machine type {worker.machine.type} of pool {worker.name}")
            continue
        for metric, written in ((CPU, machine.cpu), (GPU, machine.gpu), (MEMORY, machine.memory)):
            _add(amounts, metric, worker.maximum, written, unknown)
        _add_storage(amounts, worker, machine, offer, unknown)
    return Cost(amounts, tuple(unknown))


def _has_nginx(spec: ShootSpec) -> bool:
    addons = spec.addons
    return bool(addons and addons.nginx_ingress and addons.nginx_ingress.enabled)


def _add_storage(
    amounts: dict[str, Decimal],
    worker: Worker,
    machine: MachineType,
    offer: CloudProfileSpec | None,
    unknown: list[str],
) -> None:
    """Count the root volume; the machine type's own storage gives class and size if it has one."""
    storage, volume = machine.storage, worker.volume
    size: Quantity | None = volume.size if volume is not None and volume.size else None
    if size is None and storage is not None:
        size = storage.size
    if storage is not None:
        kind = storage.class_
    else:
        named = volume.type if volume is not None else ""
        types = offer.volume_types if offer is not None else ()
        kind = next((found.class_ for found in types if found.name == named), "")
    if size is None or not kind:
        unknown.append(f"volume of pool {worker.name}")
        return
    _add(amounts, PREMIUM if kind == "premium" else STANDARD, worker.maximum, size, unknown)


def _add(
    amounts: dict[str, Decimal], metric: str, count: int, written: Quantity, unknown: list[str]
) -> None:
    try:
        amount = _EXACT.multiply(Decimal(max(count, 0)), quantity.parse(written))
    except QuantityError:
        unknown.append(f"{metric} {written!r}")
        return
    amounts[metric] = _EXACT.add(amounts.get(metric, _NOTHING), amount)


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
