"""Whether a seed is ready, by the criteria of Gardener's own controllers."""

from collections.abc import Iterable

from webhook.api import names
from webhook.api.seeds import Seed
from webhook.kube import conditions


def is_seed_ready(seed: Seed) -> bool:
    """Return whether a seed is ready; BackupBucketsReady counts only if it is reported."""
    status = seed.status
    buckets = conditions.get(status.conditions, names.BACKUP_BUCKETS_READY)
    return (
        not seed.is_deleting
        and status.observed_generation == seed.metadata.generation
        and conditions.is_true(status.conditions, names.GARDENLET_READY)
        and conditions.is_true(status.conditions, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
        and (buckets is None or buckets.status == conditions.TRUE)
    )


def unready_reasons(seed: Seed) -> Iterable[str]:
    """Yield the reasons why a seed is not ready."""
    if seed.is_deleting:
        yield "it is being deleted"
    if seed.status.observed_generation != seed.metadata.generation:
        yield "its current spec has not been observed yet"
    required = (names.GARDENLET_READY, names.SEED_SYSTEM_COMPONENTS_HEALTHY)
    for name in (*required, names.BACKUP_BUCKETS_READY):
        found = conditions.get(seed.status.conditions, name)
        if found is None and name in required:
            yield f"condition {name} is missing"
        elif found is not None and found.status != conditions.TRUE:
            yield f"condition {name} is {found.status}"
