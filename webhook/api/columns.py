"""Columns that `kubectl get` prints, by kind."""

from typing import Final, NamedTuple


class Column(NamedTuple):
    """One printer column; those with a priority above 0 show with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_LAST_OPERATION: Final = (
    Column("Last Operation", ".status.lastOperation.type"),
    Column("State", ".status.lastOperation.state"),
)


def _condition(name: str, condition: str, priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{condition}")].status'
    return Column(name, path, priority=priority)


CLOUD_PROFILE: Final = (Column("Type", ".spec.type"), AGE)
NAMESPACED_CLOUD_PROFILE: Final = (Column("Parent", ".spec.parent.name"), AGE)
PROJECT: Final = (
    Column("Namespace", ".spec.namespace"),
    Column("Status", ".status.phase"),
    Column("Owner", ".spec.owner.name"),
    Column("Creator", ".spec.createdBy.name", priority=1),
    AGE,
)
SEED: Final = (
    _condition("Ready", "GardenletReady"),
    Column("Provider", ".spec.provider.type"),
    Column("Region", ".spec.provider.region"),
    Column("Multi-Zonal", r".metadata.labels.seed\.gardener\.cloud/multi-zonal"),
    Column("Shoots", ".status.allocatable.shoots", description="room for shoots"),
    Column("Visible", ".spec.settings.scheduling.visible", "boolean", priority=1),
    Column("Zones", ".spec.provider.zones", priority=1),
    Column("K8S Version", ".status.kubernetesVersion"),
    AGE,
)
SHOOT: Final = (
    Column("CloudProfile", ".spec.cloudProfile.name"),
    Column("Provider", ".spec.provider.type"),
    Column("Region", ".spec.region"),
    Column("Seed", ".spec.seedName"),
    Column("K8S Version", ".spec.kubernetes.version"),
    Column("Hibernation", ".spec.hibernation.enabled", "boolean"),
    Column("Last Operation", ".status.lastOperation.state"),
    Column("Status", r".metadata.labels.shoot\.gardener\.cloud/status"),
    Column("Purpose", ".spec.purpose", priority=1),
    Column("Scheduler", ".spec.schedulerName", priority=1),
    _condition("APIServer", "APIServerAvailable", priority=1),
    _condition("Control", "ControlPlaneHealthy", priority=1),
    _condition("Nodes", "EveryNodeReady", priority=1),
    _condition("System", "SystemComponentsHealthy", priority=1),
    AGE,
)
MANAGED_SEED: Final = (
    _condition("Registered", "SeedRegistered"),
    _condition("Ready", "SeedReady"),
    Column("Shoot", ".spec.shoot.name"),
    _condition("Shoots Ready", "ShootsReady", priority=1),
    AGE,
)
MANAGED_SEED_SET: Final = (
    Column("Desired", ".spec.replicas", "integer"),
    Column("Replicas", ".status.replicas", "integer"),
    Column("Ready", ".status.readyReplicas", "integer"),
    Column("Updated", ".status.updatedReplicas", "integer"),
    Column("Pending", ".status.pendingReplica.name"),
    Column("Reason", ".status.pendingReplica.reason"),
    Column("Revision", ".status.updateRevision", priority=1),
    AGE,
)
SEED_AUTOSCALER: Final = (
    Column("Target", ".spec.scaleTargetRef.name"),
    Column("Min", ".spec.minReplicas", "integer"),
    Column("Max", ".spec.maxReplicas", "integer"),
    Column("Current", ".status.currentReplicas", "integer"),
    Column("Desired", ".status.desiredReplicas", "integer"),
    Column("Mode", ".spec.mode"),
    _condition("Active", "ScalingActive", priority=1),
    _condition("Limited", "ScalingLimited", priority=1),
    Column("Last Scale", ".status.lastScaleTime", "date", priority=1),
    AGE,
)
ZONE: Final = (
    _condition("Healthy", "Healthy"),
    Column("Provider", ".spec.provider"),
    Column("Region", ".spec.region"),
    Column("Zone", ".spec.zone"),
    AGE,
)
SECRET_BINDING: Final = (
    Column("Secret Namespace", ".secretRef.namespace"),
    Column("Secret", ".secretRef.name"),
    Column("Provider", ".provider.type"),
    AGE,
)
CREDENTIALS_BINDING: Final = (
    Column("Credentials Namespace", ".credentialsRef.namespace"),
    Column("Credentials", ".credentialsRef.name"),
    Column("Kind", ".credentialsRef.kind"),
    Column("Provider", ".provider.type"),
    AGE,
)
QUOTA: Final = (Column("Scope", ".spec.scope.kind"), AGE)
EXPOSURE_CLASS: Final = (Column("Handler", ".handler"), AGE)
