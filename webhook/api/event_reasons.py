"""EVENT_REASONS: every reason of the Kubernetes Events that we record, in one table."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

Reason: TypeAlias = Literal[
    "CapacityMalformed",
    "CreatingManagedSeed",
    "CreatingShoot",
    "DeletingManagedSeed",
    "DeletingShoot",
    "DeployedGardenlet",
    "LedgerReset",
    "NotInPool",
    "PoolZonesDisagree",
    "RecreatingShoot",
    "Refused",
    "RegionConfigBroken",
    "RegisteringSeed",
    "ResourcesNotReached",
    "RetryingShootDeletion",
    "RetryingShootReconciliation",
    "RolledOut",
    "ScaleInUndone",
    "ScalingIn",
    "ScheduledScalingBlocked",
    "ScheduledScalingDown",
    "ScheduledScalingFailed",
    "ScheduledScalingLimited",
    "ScheduledScalingUp",
    "SchedulingFailed",
    "SchedulingSuccessful",
    "SchedulingWeakened",
    "SuccessfulRescale",
    "TemplateRefused",
    "Updating",
    "ZoneHeldOut",
    "ZoneTriedAgain",
    "ZoneWithoutResources",
]
"""A reason that an Event of ours may have; the type checker refuses any other."""


class EventReason(NamedTuple):
    """What an Event with this reason means, and what to do about it."""

    kind: str
    type: Literal["Normal", "Warning"]
    meaning: str
    remedy: str = "nothing"


_SHOOT: Final = "Shoot"
_SEED: Final = "Seed"
_SET: Final = "ManagedSeedSet"
_MANAGED_SEED: Final = "ManagedSeed"
_SCALING: Final = "ScheduledScaling"
_DEPLOYMENT: Final = "MachineDeployment"

EVENT_REASONS: Final[Mapping[Reason, EventReason]] = {
    "SchedulingSuccessful": EventReason(_SHOOT, "Normal", "the shoot has got a seed"),
    "SchedulingFailed": EventReason(
        _SHOOT,
        "Warning",
        "no seed takes the shoot; the message counts the reasons",
        "`espalier explain NAMESPACE/SHOOT` shows the reason of each seed",
    ),
    "SchedulingWeakened": EventReason(
        _SHOOT,
        "Warning",
        "the shoot runs without the zones that it requests, because it allows `ScheduleAnyway`",
        "add a seed with enough zones, then remove the annotation that the message names",
    ),
    "LedgerReset": EventReason(
        _SEED,
        "Warning",
        "the ledger of the seed could not be read and was created again",
        "find out who wrote the ConfigMap; the seed is counted from its shoots meanwhile",
    ),
    "CapacityMalformed": EventReason(
        _SEED,
        "Warning",
        "the capacity that the gardenlet's configuration or a setting gives cannot be read",
        "write a quantity into the field that the message names",
    ),
    "RegionConfigBroken": EventReason(
        "ConfigMap",
        "Warning",
        "a table of region distances cannot be read and is not used",
        "correct the lines that the message names",
    ),
    "RegisteringSeed": EventReason(
        _MANAGED_SEED, "Normal", "the Seed of the ManagedSeed is written"
    ),
    "DeployedGardenlet": EventReason(
        _MANAGED_SEED, "Normal", "the gardenlet is deployed into the Shoot"
    ),
    "Refused": EventReason(
        _MANAGED_SEED,
        "Warning",
        "the API server refuses what the ManagedSeed requests",
        "correct the fields that the message names",
    ),
    "CreatingShoot": EventReason(_SET, "Normal", "the set creates the Shoot of a replica"),
    "RecreatingShoot": EventReason(
        _SET,
        "Warning",
        "the Shoot of a replica is gone and is created again",
        "find out who deleted it",
    ),
    "CreatingManagedSeed": EventReason(
        _SET, "Normal", "the Shoot of a replica is ready and gets its ManagedSeed"
    ),
    "RetryingShootReconciliation": EventReason(
        _SET,
        "Normal",
        "a failed reconciliation of a replica's Shoot is tried again",
        "look at the Shoot's `status.lastErrors` if it fails every time",
    ),
    "RetryingShootDeletion": EventReason(
        _SET,
        "Normal",
        "a failed deletion of a replica's Shoot is tried again",
        "look at the Shoot's `status.lastErrors` if it fails every time",
    ),
    "ScalingIn": EventReason(_SET, "Normal", "a replica is chosen for removal"),
    "ScaleInUndone": EventReason(
        _SET, "Normal", "a replica that was chosen for removal stays, for the reason given"
    ),
    "DeletingManagedSeed": EventReason(_SET, "Normal", "the ManagedSeed of a replica is deleted"),
    "DeletingShoot": EventReason(_SET, "Normal", "the Shoot of a replica is deleted"),
    "Updating": EventReason(_SET, "Normal", "a replica gets the new revision of the templates"),
    "RolledOut": EventReason(_SET, "Normal", "every replica has the new revision"),
    "TemplateRefused": EventReason(
        _SET,
        "Warning",
        "admission refuses what the set's templates ask for; no replica was changed",
        "correct the fields that the message names, or `kubectl espalier rollout undo`",
    ),
    "SuccessfulRescale": EventReason(
        "SeedAutoscaler", "Normal", "the autoscaler has changed the size of its set"
    ),
    "ScheduledScalingUp": EventReason(_SCALING, "Normal", "a window opens and its floors hold"),
    "ScheduledScalingDown": EventReason(
        _SCALING, "Normal", "a window closes and its floors are removed"
    ),
    "ScheduledScalingFailed": EventReason(
        _SCALING,
        "Warning",
        "the schedule cannot be carried out",
        "correct what the message names; `kubectl espalier schedule` shows the windows",
    ),
    "ScheduledScalingLimited": EventReason(
        _SCALING,
        "Warning",
        "a floor is cut to a limit of the Tortoise or of the settings",
        "lower the floor or raise the limit that the message names",
    ),
    "ScheduledScalingBlocked": EventReason(
        _SCALING,
        "Warning",
        "the schedule is being deleted, and a raised value could not be put back",
        "set the value that the message names by hand",
    ),
    "ResourcesNotReached": EventReason(
        _SCALING,
        "Warning",
        "pods are still below a resource floor after `scheduledScaling.resourcesDeadlineSeconds`",
        "look at why the Tortoise does not restart its pods",
    ),
    "NotInPool": EventReason(
        _DEPLOYMENT,
        "Warning",
        "the MachineDeployment is left out of its worker pool",
        "correct the annotation or label that the message names",
    ),
    "PoolZonesDisagree": EventReason(
        _DEPLOYMENT,
        "Warning",
        "the zones of a worker pool carry different numbers for the whole pool",
        "give every MachineDeployment of the pool the same numbers",
    ),
    "ZoneWithoutResources": EventReason(
        _DEPLOYMENT,
        "Warning",
        "the cloud has no machines for the zone, so other zones take its share for a while",
        "nothing, or ask the cloud provider for capacity",
    ),
    "ZoneHeldOut": EventReason(
        _DEPLOYMENT,
        "Warning",
        "new machines of the zone do not become ready, so it takes no part in the update",
        "look at the Machines of the zone",
    ),
    "ZoneTriedAgain": EventReason(
        _DEPLOYMENT, "Normal", "a zone that was held out takes part in updates again"
    ),
}
