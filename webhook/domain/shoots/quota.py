"""What shoots use of Quotas."""

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Final, NamedTuple, TypeAlias

from webhook.api.cloudprofiles import CloudProfileSpec, MachineStorage, MachineType
from webhook.api.projects import CredentialsBinding, Quota, SecretBinding
from webhook.api.shoots import Shoot, ShootSpec
from webhook.api.workers import Volume
from webhook.domain.derived import Derived
from webhook.domain.shoots import cloud_profiles
from webhook.domain.shoots.cloud_profiles import GetObject
from webhook.kube import quantity
from webhook.kube.meta import Quantity
from webhook.kube.quantity import QuantityError

Binding: TypeAlias = SecretBinding | CredentialsBinding

CPU: Final = "cpu"
GPU: Final = "gpu"
MEMORY: Final = "memory"
STANDARD: Final = "storage.standard"
PREMIUM: Final = "storage.premium"
LOAD_BALANCER: Final = "loadbalancer"
METRICS: Final = (CPU, GPU, MEMORY, STANDARD, PREMIUM, LOAD_BALANCER)

EXACT: Final = Context(prec=64)
"""Wide enough that sums of bytes and billionths are never rounded."""
_NOTHING, _ONE, _TWO = Decimal(0), Decimal(1), Decimal(2)
_NO_VOLUME: Final = Volume()


class Cost(NamedTuple):
    """What a shoot uses, and the parts that could not be determined."""

    amounts: Mapping[str, Decimal]
    unknown: tuple[str, ...] = ()


def group(shoot: Shoot) -> str:
    """Return the group of a shoot's binding, which names its quotas; empty without a binding."""
    spec = shoot.spec
    if spec.credentials_binding_name:
        return _group(CredentialsBinding, shoot.metadata.namespace, spec.credentials_binding_name)
    if spec.secret_binding_name:
        return _group(SecretBinding, shoot.metadata.namespace, spec.secret_binding_name)
    return ""


def binding_group(binding: Binding) -> str:
    """Return the group in which the shoots of a binding are summed."""
    return _group(type(binding), binding.metadata.namespace, binding.metadata.name)


def _group(model: type[Binding], namespace: str, name: str) -> str:
    return f"{model.__name__}/{namespace}/{name}"


def cost(spec: ShootSpec, offer: CloudProfileSpec | None) -> Cost:
    """Sum up all worker pools at their maximum, and the load balancers.

    A machine or volume type that the profile does not have counts 0 and is listed as unknown.
    """
    prices = _prices(offer) if offer is not None else _FREE
    workers = spec.provider.workers
    choices: list[_Choice] = [
        (worker.machine.type, volume.type, volume.size)
        for worker in workers
        for volume in (worker.volume or _NO_VOLUME,)
    ]
    # Equal pools are multiplied once: shoots have many of them.
    counts: dict[_Choice, int] = {}
    for choice, worker in zip(choices, workers, strict=True):
        counts[choice] = counts.get(choice, 0) + (worker.maximum if worker.maximum > 0 else 0)
    amounts = {LOAD_BALANCER: _TWO if _has_nginx(spec) else _ONE}
    unknown: list[str] = []
    for choice, count in counts.items():
        price = prices[choice]
        if price.unknown:
            pools = zip(workers, choices, strict=True)
            names = (worker.name for worker, chosen in pools if chosen == choice)
            unknown += (f"{price.unknown} of pool {name}" for name in names)
        factor = Decimal(count)
        for metric, amount in price.amounts.items():
            amounts[metric] = EXACT.fma(amount, factor, amounts.get(metric, _NOTHING))
    return Cost(amounts, tuple(unknown))


_Choice: TypeAlias = tuple[str, str, Quantity]
"""What the price of a pool depends on: machine type, volume type, volume size."""


class _Price(NamedTuple):
    """What one machine with its volume uses, and the part that could not be determined."""

    amounts: Mapping[str, Decimal]
    unknown: str = ""


class _Prices(dict[_Choice, _Price]):
    """What machines with volumes of one profile use, computed once for each choice."""

    def __init__(self, offer: CloudProfileSpec) -> None:
        super().__init__()
        self._machines = {machine.name: machine for machine in offer.machine_types}
        self._classes = {volume.name: volume.class_ for volume in offer.volume_types}

    def __missing__(self, choice: _Choice) -> _Price:
        if len(self) >= _MAX_CHOICES:
            self.clear()
        found = self[choice] = self._compute(choice)
        return found

    def _compute(self, choice: _Choice) -> _Price:
        machine = self._machines.get(choice[0])
        if machine is None:
            return _Price({}, f"machine type {choice[0]}")
        amounts = _machine(machine)
        volume = self._volume(machine.storage, choice)
        if volume is None:
            return _Price(amounts, "volume")
        metric, size = volume
        try:
            return _Price({**amounts, metric: quantity.parse(size)})
        except QuantityError:
            return _Price(amounts, f"volume size {size!r}")

    def _volume(
        self, storage: MachineStorage | None, choice: _Choice
    ) -> tuple[str, Quantity] | None:
        """Return metric and size of the root volume, by the machine type's storage if any."""
        size: Quantity | None = choice[2]
        if storage is not None:
            kind, size = storage.class_, size or storage.size
        else:
            kind = self._classes.get(choice[1], "")
        if not size or not kind:
            return None
        return (PREMIUM if kind == "premium" else STANDARD), size


_FREE: Final = _Prices(CloudProfileSpec())
_MAX_CHOICES: Final = 4096
_prices: Final = Derived(_Prices)


def _machine(machine: MachineType) -> dict[str, Decimal]:
    """Return the resources of a machine type; malformed amounts are not counted."""
    written = ((CPU, machine.cpu), (GPU, machine.gpu), (MEMORY, machine.memory))
    amounts = ((metric, _read(text)) for metric, text in written)
    return {metric: amount for metric, amount in amounts if amount is not None}


def _has_nginx(spec: ShootSpec) -> bool:
    addons = spec.addons
    return bool(addons and addons.nginx_ingress and addons.nginx_ingress.enabled)


def cost_of(shoot: Shoot, find: GetObject) -> Mapping[str, Decimal]:
    """Return what a stored shoot uses."""
    return cost(shoot.spec, cloud_profiles.find(shoot.spec, shoot.namespace, find)).amounts


def may_cost_more(new: ShootSpec, old: ShootSpec | None) -> bool:
    """Return whether a change may use more, so that quotas have to be checked.

    Only removing a pool never uses more. As in Gardener, any other maximum is checked, also a lower
    one that still exceeds the quota.
    """
    if old is None or (_has_nginx(new) and not _has_nginx(old)):
        return True
    if new.provider.workers == old.provider.workers:
        return False
    stored = {worker.name: worker for worker in old.provider.workers}
    for worker in new.provider.workers:
        before = stored.get(worker.name)
        if (
            before is None
            or before.maximum != worker.maximum
            or before.machine.type != worker.machine.type
            or before.volume != worker.volume
        ):
            return True
    return False


def _limits(quota: Quota) -> tuple[tuple[str, Decimal | None], ...]:
    """Return the limits of a quota by metric; None for a malformed one."""
    return tuple((metric, _read(text)) for metric, text in sorted(quota.spec.metrics.items()))


def _read(text: Quantity) -> Decimal | None:
    try:
        return quantity.parse(text)
    except QuantityError:
        return None


limits: Final = Derived(_limits)


def is_of_project(quota: Quota) -> bool:
    """Return whether a quota applies to one project's shoots, not to all of its credentials."""
    return quota.spec.scope.kind == "Project"
