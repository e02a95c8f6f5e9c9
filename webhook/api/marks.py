"""MARKS: everything that Espalier writes on objects of others and of users, and who releases it.

Uninstalling removes every mark, whatever state it is in; `released` states when a running Espalier
does. A name of ours that is not here is written by users, or on objects that are ours as a whole.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.kube.meta import Object

Place: TypeAlias = Literal["label", "annotation", "finalizer", "taint", "field"]


class Mark(NamedTuple):
    """A mark, the kinds that have it, what it does, and when it is released."""

    name: str
    place: Place
    models: tuple[type[Object], ...]
    effect: str
    released: str


_POOLS: Final = (MachineDeployment, MachineSet)
_SCALED: Final = (Tortoise, HorizontalPodAutoscaler)
_ROLLED: Final = (Shoot, ManagedSeed)
_NEVER: Final = "by uninstalling; it has no effect without its feature"
_WINDOW: Final = "at the end of the window, or when the ScheduledScaling is deleted"
_KEPT: Final = "when the replica is wanted again, leaves its set, or Gardener scales the set"
_CORDON: Final = "when the autoscaler no longer drains the seed, or is deleted"
_POOL: Final = "by uninstalling; Gardener's own bounds apply when sizing is not requested"

VISIBLE: Final = "spec.settings.scheduling.visible"

MARKS: Final[tuple[Mark, ...]] = (
    Mark(names.CORDON_TAINT, "taint", (Seed,), "keeps new shoots off", _CORDON),
    Mark(names.CORDONED_BY, "annotation", (Seed,), "names the SeedAutoscaler of a cordon", _CORDON),
    Mark(names.SCALE_IN, "annotation", (*_ROLLED, Seed), "marks a replica to be removed", _KEPT),
    Mark(VISIBLE, "field", (Seed,), "hides the seed of such a replica", _KEPT),
    Mark(
        *(names.FINALIZER, "finalizer", (Seed,), "keeps the Seed while it hosts shoots"),
        "when the Seed is deleted and empty, or a gardenlet reconciles it",
    ),
    Mark(
        *(names.FINALIZER, "finalizer", (SeedAutoscaler,), "keeps it until seeds are released"),
        _CORDON,
    ),
    Mark(
        *(names.SCHEDULED_SCALING_FINALIZER, "finalizer", (ScheduledScaling,)),
        "keeps it until raised values are restored",
        "when it is deleted and they are",
    ),
    Mark(
        *(names.GARDENER_FINALIZER, "finalizer", (ManagedSeed, ManagedSeedSet)),
        "keeps it until its seeds are gone",
        "when it is deleted and they are",
    ),
    Mark(names.SCALING_NAMESPACE, "label", (Namespace,), "selects it for our webhooks", _WINDOW),
    Mark(
        *(names.ADAPTIVE_NAMESPACE, "label", (Namespace,), "selects it for our webhooks"),
        "when no pool in it is adaptive",
    ),
    Mark(names.SCALING_NOTE, "annotation", _SCALED, "keeps the values before a raise", _WINDOW),
    Mark(names.SCALING_FLOORS, "annotation", _SCALED, "the floors of a window", _WINDOW),
    Mark(names.SCALING_AFTERMATH, "annotation", _SCALED, "the time after a window", _WINDOW),
    Mark(names.POOL_MINIMUM, "annotation", _POOLS, "the minimum of the pool", _POOL),
    Mark(names.POOL_MAXIMUM, "annotation", _POOLS, "the maximum of the pool", _POOL),
    Mark(names.POOL_MAX_SURGE, "annotation", _POOLS, "the surge of the pool", _POOL),
    Mark(names.POOL_MAX_UNAVAILABLE, "annotation", _POOLS, "the pool's unavailability", _POOL),
    Mark(names.POOL_ZONE_INDEX, "annotation", _POOLS, "the place of the zone", _POOL),
    Mark(names.POOL_ZONE_COUNT, "annotation", _POOLS, "the number of zones", _POOL),
    Mark(names.SIZING_STRATEGY, "annotation", _POOLS, "how the pool is sized", _POOL),
    Mark(names.TOUCHED, "annotation", (*_POOLS, Shoot), "lets an old write conflict", _NEVER),
    Mark(names.NUDGE, "label", (MachineDeployment,), "has the deployment reconciled", _NEVER),
    Mark(names.LAST_SCALED, "annotation", (MachineDeployment,), "when it was scaled", _NEVER),
    Mark(
        *(names.EFFECTIVE_FAILURE_DOMAIN, "annotation", (Shoot,), "a weakened placement"),
        "by uninstalling; the shoot keeps its seed",
    ),
    Mark(names.ROLLED_GENERATION, "annotation", (Shoot,), "the last update of a set", _NEVER),
    Mark(names.SHOOT_RETRIES, "annotation", (Shoot,), "counts retries", "when it is reconciled"),
    Mark(names.CONTROLLER_REVISION_HASH, "label", _ROLLED, "the revision of a replica", _NEVER),
    Mark(names.NEXT_REPLICA_NUMBER, "annotation", (ManagedSeedSet,), "the next ordinal", _NEVER),
    Mark(names.TEMPLATE_CHECKSUM, "annotation", (Seed,), "the template of the Seed", _NEVER),
    Mark(names.GARDENLET_APPLIED, "annotation", (ManagedSeed,), "the last deployment", _NEVER),
)

BY_USERS: Final = frozenset(
    {
        *(names.SHOOT_ANNOTATION, names.ROLLOUT, names.SCHEDULER_NAMESPACE),
        *(names.HIGH_AVAILABILITY, names.REGION_AFFINITY, names.MAX_UNREADY_SHOOTS),
        *(names.MAX_PARALLEL, names.PAUSED, names.SIMULATE, names.ABANDON_GARDENLET),
    }
)
"""Names of ours that users write."""

ON_OUR_OBJECTS: Final = frozenset(
    {names.VIRTUAL, names.LEDGER_LABEL, names.POOL_LABEL, names.SETTINGS_CHECKSUM}
)
"""Names on objects that are deleted as a whole."""


def marked_models() -> tuple[type[Object], ...]:
    """Return the kinds that have marks, each once."""
    return tuple(dict.fromkeys(model for mark in MARKS for model in mark.models))
