"""Whether shoots and seeds are well, as Gardener's own controllers judge it."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api import conditions, names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import usage

Health: TypeAlias = Literal["healthy", "progressing", "unknown", "unhealthy"]

SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
DELETE: Final = "Delete"

ALL: Final = "all"
READY: Final = "ready"

_WORDS: Final[Mapping[str, Health]] = {
    "healthy": "healthy",
    "progressing": "progressing",
    "unknown": "unknown",
    "unhealthy": "unhealthy",
}
_ONE: Final = Decimal(1)
_NONE: Final = Decimal(0)
_READY: Final[Mapping[str, Decimal]] = {ALL: _ONE, READY: _ONE}
_UNREADY: Final[Mapping[str, Decimal]] = {ALL: _ONE, READY: _NONE}


class Hosted(NamedTuple):
    """The shoots that a seed carries, and how many of them are ready."""

    total: int = 0
    ready: int = 0

    @property
    def unready(self) -> int:
        return self.total - self.ready


NOBODY: Final = Hosted()


def of_shoot(shoot: Shoot) -> Health:
    """Judge a shoot by its status label, and by its conditions where it has none."""
    word = shoot.metadata.labels.get(names.SHOOT_STATUS)
    if word is not None:
        return _WORDS.get(word, "unknown")
    statuses = {condition.status for condition in shoot.status.conditions}
    if conditions.FALSE in statuses:
        return "unhealthy"
    if statuses and statuses == {conditions.TRUE}:
        return "healthy"
    return "progressing"


def is_observed(shoot: Shoot) -> bool:
    """Tell whether the present wish has been acted on."""
    return shoot.status.observed_generation == shoot.metadata.generation


def is_reconciled(shoot: Shoot) -> bool:
    """Tell whether the shoot is what its spec asks for."""
    operation = shoot.status.last_operation
    return (
        not shoot.is_deleting
        and operation is not None
        and operation.type != DELETE
        and operation.state == SUCCEEDED
        and is_observed(shoot)
    )


def open_gates(shoot: Shoot) -> tuple[str, ...]:
    """Name the readiness gates of a shoot that are not yet True, in the order they are listed."""
    listed = shoot.metadata.annotations.get(names.READINESS_GATES, "")
    gates = filter(None, (gate.strip() for gate in listed.split(",")))
    return tuple(gate for gate in gates if not conditions.is_true(shoot.status.conditions, gate))


def is_seed_ready(seed: Seed) -> bool:
    """Tell whether a seed can be relied on; buckets count only where somebody reports them."""
    status = seed.status
    buckets = conditions.get(status.conditions, names.BACKUP_BUCKETS_READY)
    return (
        not seed.is_deleting
        and status.observed_generation == seed.metadata.generation
        and conditions.is_true(status.conditions, names.GARDENLET_READY)
        and conditions.is_true(status.conditions, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
        and (buckets is None or buckets.status == conditions.TRUE)
    )


def seed_troubles(seed: Seed) -> Iterable[str]:
    """Say what keeps a seed from being ready."""
    if seed.is_deleting:
        yield "it is being deleted"
    if seed.status.observed_generation != seed.metadata.generation:
        yield "its present spec has not been acted on yet"
    required = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
    for name in (*required, names.BACKUP_BUCKETS_READY):
        found = conditions.get(seed.status.conditions, name)
        if found is None and name in required:
            yield f"condition {name} is missing"
        elif found is not None and found.status != conditions.TRUE:
            yield f"condition {name} is {found.status}"


def is_hosted_ready(shoot: Shoot) -> bool:
    """Tell whether a shoot on a seed is reconciled and well."""
    return is_reconciled(shoot) and of_shoot(shoot) == "healthy"


def hosts(shoot: Shoot) -> tuple[str, ...]:
    """Name the seeds whose health a shoot tells of; one that is going away tells nothing."""
    return () if shoot.is_deleting else usage.seeds(shoot)


def count(shoot: Shoot) -> Mapping[str, Decimal]:
    """Count a shoot as one, and as ready if it is; the answer is shared."""
    return _READY if is_hosted_ready(shoot) else _UNREADY


def hosted(sums: Mapping[str, Decimal]) -> Hosted:
    """Read what the counts of a seed's shoots add up to."""
    return Hosted(int(sums.get(ALL, _NONE)), int(sums.get(READY, _NONE)))
