"""Worker pools by themselves: names, bounds, surge, and at least one node for each zone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from webhook.admission.decision import TOO_LONG, Finding
from webhook.api.workers import ShootWorker
from webhook.domain.options import WorkerRule
from webhook.kube import identifiers

MAX_NAME: Final = 15
_PERCENT: Final = re.compile(r"[0-9]+%\Z")
_VOLUME_SIZE: Final = re.compile(r"[0-9]+Gi\Z")


class Pools(NamedTuple):
    """Worker pools and the stored ones, compared once for all rules."""

    workers: Sequence[ShootWorker]
    stored: Mapping[str, ShootWorker]
    changed: Sequence[int]
    """The indexes of pools that are new or changed."""
    are_unchanged: bool
    """Whether all pools are unchanged, in the same order."""

    @classmethod
    def of(cls, workers: Sequence[ShootWorker], old: Sequence[ShootWorker]) -> Self:
        """Compare pools with the stored ones of the same names."""
        stored = {worker.name: worker for worker in old}
        if workers == old:
            return cls(workers, stored, (), True)
        pairs = enumerate(workers)
        changed = [index for index, worker in pairs if stored.get(worker.name) != worker]
        return cls(workers, stored, changed, False)


def validate(pools: Pools, base: str, rule: WorkerRule = "every-pool") -> Iterator[Finding]:
    """Validate all pools; `base` is the path of their list.

    An unchanged pool is not validated again, but for its number of nodes, and that is a warning: an
    update of another field of an old shoot must not require fixing its pools first.
    """
    if not pools.are_unchanged:
        yield from _changed(pools, base)
    if rule != "every-pool":
        yield from _system_component_pools(pools.workers, pools.stored, base)
    elif is_any_short(pools.workers):
        yield from _every_pool(pools.workers, pools.stored, base)


def is_any_short(workers: Sequence[ShootWorker]) -> bool:
    """Return whether a pool has fewer nodes than zones."""
    return any(map(_is_short, workers))


def _changed(pools: Pools, base: str) -> Iterator[Finding]:
    workers = pools.workers
    if len({worker.name for worker in workers}) < len(workers):
        yield from _duplicate_names(workers, base)
    for index in pools.changed:
        yield from _pool(workers[index], f"{base}[{index}]")
    if workers:
        yield from _system_components(workers, base)


def _duplicate_names(workers: Sequence[ShootWorker], base: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, worker in enumerate(workers):
        if worker.name in seen:
            field = f"{base}[{index}].name"
            yield Finding.duplicate(field, worker.name, "give each pool its own name")
        seen.add(worker.name)


def _pool(worker: ShootWorker, field: str) -> Iterator[Finding]:
    yield from _name(worker.name, f"{field}.name")
    for bound, name in ((worker.minimum, "minimum"), (worker.maximum, "maximum")):
        if bound < 0:
            yield Finding.invalid(f"{field}.{name}", bound, "must not be negative")
    if worker.maximum < worker.minimum:
        yield Finding.forbidden(
            f"{field}.maximum", f"must be at least minimum ({worker.minimum}), raise it"
        )
    if not worker.machine.type:
        yield Finding.required(f"{field}.machine.type", "name a machine type of the cloud profile")
    if worker.volume is not None and not _VOLUME_SIZE.match(worker.volume.size):
        yield Finding.invalid(
            f"{field}.volume.size", worker.volume.size, "write whole gibibytes, e.g. 50Gi"
        )
    if worker.priority is not None and worker.priority < -1:
        yield Finding.invalid(f"{field}.priority", worker.priority, "must be -1 or more")
    yield from _rolling_update(worker, field)


def _name(name: str, field: str) -> Iterator[Finding]:
    if not name:
        yield Finding.required(field, "give the pool a name")
        return
    if len(name) > MAX_NAME:
        yield Finding(field, f"may not be more than {MAX_NAME} characters", TOO_LONG, name)
    for error in identifiers.dns1123_label_errors(name):
        yield Finding.invalid(field, name, error)


def _rolling_update(worker: ShootWorker, field: str) -> Iterator[Finding]:
    surge = worker.max_surge if worker.max_surge is not None else 1
    unavailable = worker.max_unavailable if worker.max_unavailable is not None else 0
    if (
        type(surge) is type(unavailable) is int
        and min(surge, unavailable) >= 0 < surge + unavailable
    ):
        return  # the common case
    for value, name in ((surge, "maxSurge"), (unavailable, "maxUnavailable")):
        if isinstance(value, str) and not _PERCENT.match(value):
            yield Finding.invalid(
                f"{field}.{name}", value, "write a number of nodes or a percentage such as 25%"
            )
        elif isinstance(value, int) and value < 0:
            yield Finding.invalid(f"{field}.{name}", value, "must not be negative")
    amount = _amount(unavailable)
    if isinstance(unavailable, str) and amount > 100:
        yield Finding.invalid(f"{field}.maxUnavailable", unavailable, "must not exceed 100%")
    if amount == 0 and _amount(surge) == 0:
        yield _no_progress(unavailable, field)


def _no_progress(unavailable: int | str, field: str) -> Finding:
    return Finding.invalid(
        f"{field}.maxUnavailable",
        unavailable,
        "may not be 0 while maxSurge is 0, or no node could ever be replaced",
    )


def validate_undefaulted(workers: Sequence[ShootWorker], base: str) -> Iterator[Finding]:
    """Reject pools without maxSurge in a template that is not defaulted."""
    for index, worker in enumerate(workers):
        unavailable = worker.max_unavailable if worker.max_unavailable is not None else 0
        if worker.max_surge is None and _amount(unavailable) == 0:
            yield _no_progress(unavailable, f"{base}[{index}]")


def _amount(value: int | str) -> int:
    """Return a number or percentage as an integer; 0 for anything else."""
    if isinstance(value, int):
        return value
    # Reading very many digits takes long, and the last ones suffice to exceed any limit.
    return int(value[-12:-1]) if _PERCENT.match(value) else 0


def _system_components(workers: Sequence[ShootWorker], base: str) -> Iterator[Finding]:
    if not any(worker.maximum > 0 and allows_system_components(worker) for worker in workers):
        yield Finding.forbidden(
            base,
            "at least one pool with maximum above 0 must allow system components, "
            "set systemComponents.allow: true on one",
        )


def allows_system_components(worker: ShootWorker) -> bool:
    """Return whether a pool may run system components, which is the default."""
    return worker.system_components is None or worker.system_components.allow


def _every_pool(
    workers: Sequence[ShootWorker], stored: Mapping[str, ShootWorker], base: str
) -> Iterator[Finding]:
    """Validate that each pool can have a node in each of its zones (document 002)."""
    for index, worker in enumerate(workers):
        if _is_short(worker):
            yield _short(worker, stored.get(worker.name), f"{base}[{index}].maximum")


def _system_component_pools(
    workers: Sequence[ShootWorker], stored: Mapping[str, ShootWorker], base: str
) -> Iterator[Finding]:
    """Validate Gardener's rule: of the pools with the same zones one must suffice."""
    short: dict[frozenset[str], int] = {}
    sufficient: set[frozenset[str]] = set()
    for index, worker in enumerate(workers):
        if worker.maximum > 0 and allows_system_components(worker):
            zones = frozenset(worker.zones)
            if worker.maximum >= len(worker.zones):
                sufficient.add(zones)
            else:
                short[zones] = index
    for zones, index in short.items():
        if zones not in sufficient:
            worker = workers[index]
            yield _short(worker, stored.get(worker.name), f"{base}[{index}].maximum")


def _is_short(worker: ShootWorker) -> bool:
    return 0 < worker.maximum < len(worker.zones)


def _short(worker: ShootWorker, old: ShootWorker | None, field: str) -> Finding:
    zones = len(worker.zones)
    found = Finding.forbidden(
        field,
        f"pool {worker.name} has {zones} zones but at most {worker.maximum} nodes, so some zones "
        f"never get one: raise maximum to {zones} or remove zones",
    )
    unchanged = (
        old is not None and old.maximum == worker.maximum and len(old.zones) == len(worker.zones)
    )
    return found.as_warning() if unchanged else found
