"""Columns that `kubectl get` prints: those that operators know from upstream, and ours."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Column(NamedTuple):
    """One printer column; those with a priority above 0 show with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""


def _condition(name: str, condition: str, priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{condition}")].status'
    return Column(name, path, priority=priority, description=f"the condition {condition}")


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_TYPE: Final = Column("Type", ".spec.type")
_REGION: Final = Column("Region", ".spec.region")
_STATUS: Final = Column("Status", ".status.lastOperation.state")
_EXTENSION: Final = (_TYPE, _STATUS, AGE)
_REGIONAL_EXTENSION: Final = (_TYPE, _REGION, _STATUS, AGE)

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "CloudProfile": (Column("Provider", ".spec.type"), AGE),
    "NamespacedCloudProfile": (
        Column("Parent Name", ".spec.parent.name"),
        Column("Parent Kind", ".spec.parent.kind"),
        AGE,
    ),
    "Project": (
        Column("Namespace", ".spec.namespace"),
        Column("Status", ".status.phase"),
        Column("Owner", ".spec.owner.name"),
        Column("Creator", ".spec.createdBy.name"),
        AGE,
    ),
    "Seed": (
        _condition("Ready", "GardenletReady"),
        Column("Last Operation", ".status.lastOperation.state"),
        Column("Provider", ".spec.provider.type"),
        Column("Region", ".spec.provider.region"),
        Column("Multi-Zonal", r".metadata.labels.seed\.gardener\.cloud/multi-zonal"),
        Column("Shoots", ".status.allocatable.shoots", description="how many shoots it can take"),
        Column("Visible", ".spec.settings.scheduling.visible", "boolean", priority=1),
        Column("Zones", ".spec.provider.zones", priority=1),
        AGE,
        Column("Version", ".status.gardener.version"),
        Column("K8S Version", ".status.kubernetesVersion"),
    ),
    "Shoot": (
        Column(
            "CloudProfile",
            ".spec['cloudProfile.name','cloudProfileName']",
            description="in today's spelling or the older one",
        ),
        Column("Provider", ".spec.provider.type"),
        Column("Region", ".spec.region"),
        Column("Seed", ".spec.seedName"),
        Column("K8S Version", ".spec.kubernetes.version"),
        Column("Hibernation", ".spec.hibernation.enabled"),
        Column("Last Operation", ".status.lastOperation.state"),
        Column("Status", r".metadata.labels.shoot\.gardener\.cloud/status"),
        Column("Purpose", ".spec.purpose", priority=1),
        Column("Scheduler", ".spec.schedulerName", priority=1),
        Column("Gardener Version", ".status.gardener.version", priority=1),
        _condition("APIServer", "APIServerAvailable", priority=1),
        _condition("Control", "ControlPlaneHealthy", priority=1),
        _condition("Observability", "ObservabilityComponentsHealthy", priority=1),
        _condition("Nodes", "EveryNodeReady", priority=1),
        _condition("System", "SystemComponentsHealthy", priority=1),
        AGE,
    ),
    "Quota": (
        Column("Scope", ".spec.scope.kind"),
        Column("Cluster Lifetime", ".spec.clusterLifetimeDays", "integer"),
        AGE,
    ),
    "SecretBinding": (
        Column("Secret", ".secretRef.name"),
        Column("Provider", ".provider.type"),
        AGE,
    ),
    "CredentialsBinding": (
        Column("Provider", ".provider.type"),
        Column("APIVersion", ".credentialsRef.apiVersion"),
        Column("Kind", ".credentialsRef.kind"),
        Column("Credentials", ".credentialsRef.name"),
        AGE,
    ),
    "ExposureClass": (Column("Handler", ".handler"), AGE),
    "ControllerRegistration": (Column("Resources", ".spec.resources[*].kind"), AGE),
    "ControllerInstallation": (
        Column("Registration", ".spec.registrationRef.name"),
        Column("Seed", ".spec.seedRef.name"),
        _condition("Valid", "Valid"),
        _condition("Installed", "Installed"),
        _condition("Healthy", "Healthy"),
        _condition("Available", "Available", priority=1),
        AGE,
    ),
    "ManagedSeed": (
        _condition("Registered", "SeedRegistered"),
        _condition("Ready", "SeedReady"),
        Column("Shoot", ".spec.shoot.name"),
        _condition("Shoots Ready", "ShootsReady", priority=1),
        AGE,
    ),
    "ManagedSeedSet": (
        Column("Desired", ".spec.replicas", "integer"),
        Column("Ready", ".status.readyReplicas", "integer"),
        Column("Updated", ".status.updatedReplicas", "integer"),
        Column("Pending", ".status.pendingReplica.name"),
        Column("Reason", ".status.pendingReplica.reason"),
        Column("Paused", ".spec.paused", "boolean", priority=1),
        Column("Revision", ".status.updateRevision", priority=1),
        AGE,
    ),
    "SeedAutoscaler": (
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
    ),
    "Zone": (
        _condition("Healthy", "Healthy"),
        Column("Provider", ".spec.provider"),
        Column("Region", ".spec.region"),
        Column("Zone", ".spec.zone"),
        AGE,
    ),
    "Infrastructure": _REGIONAL_EXTENSION,
    "BackupInfrastructure": _REGIONAL_EXTENSION,
    "MachineCloudConfig": _EXTENSION,
    "WorkerPool": (
        Column("Region", ".spec.region"),
        Column("Minimum", ".spec.minimum", "integer"),
        Column("Maximum", ".spec.maximum", "integer"),
        _STATUS,
        AGE,
    ),
    "Generic": _EXTENSION,
    "Worker": _REGIONAL_EXTENSION,
    "DNSProvider": (_TYPE, Column("Status", ".status.state"), AGE),
    "DNSEntry": (
        Column("DNS", ".spec.dnsName"),
        Column("TTL", ".spec.ttl", "integer", priority=1),
        Column("Status", ".status.state"),
        AGE,
    ),
    "Etcd": (
        Column("Ready", ".status.ready", "boolean"),
        Column("Cluster Size", ".spec.replicas", "integer"),
        Column("Ready Replicas", ".status.readyReplicas", "integer"),
        AGE,
    ),
    "MachineDeployment": (
        Column("Ready", ".status.readyReplicas", "integer"),
        Column("Desired", ".spec.replicas", "integer"),
        Column("Up-to-date", ".status.updatedReplicas", "integer"),
        Column("Available", ".status.availableReplicas", "integer"),
        AGE,
    ),
    "MachineSet": (
        Column("Desired", ".spec.replicas", "integer"),
        Column("Current", ".status.replicas", "integer"),
        Column("Ready", ".status.readyReplicas", "integer"),
        AGE,
    ),
    "Machine": (
        Column("Status", ".status.currentStatus.phase"),
        AGE,
        Column("Node", ".metadata.labels.node"),
        Column("ProviderID", ".spec.providerID", priority=1),
    ),
    "MachineClass": (Column("Provider", ".provider"), AGE),
    "ScheduledScaling": (
        Column("Phase", ".status.phase"),
        Column("Tortoise", ".spec.targetRefs.tortoiseName"),
        Column("Start", ".status.window.start"),
        Column("Finish", ".status.window.finish"),
        Column("Replicas", ".spec.strategy.static.minimumMinReplicas", "integer"),
        Column("Suspended", ".spec.suspend", "boolean", priority=1),
        Column("Message", ".status.message", priority=1),
        AGE,
    ),
    "Tortoise": (
        Column("Mode", ".spec.updateMode"),
        Column("Phase", ".status.tortoisePhase"),
        AGE,
    ),
}
