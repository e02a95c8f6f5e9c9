"""The columns that `kubectl get` prints: those of upstream for its kinds, and ours."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class PrinterColumn(NamedTuple):
    """One printer column; a priority above 0 means that it shows with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""


def _condition(name: str, condition: str, priority: int = 0) -> PrinterColumn:
    path = f'.status.conditions[?(@.type=="{condition}")].status'
    return PrinterColumn(name, path, priority=priority, description=f"the condition {condition}")


AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
_TYPE: Final = PrinterColumn("Type", ".spec.type")
_REGION: Final = PrinterColumn("Region", ".spec.region")
_STATUS: Final = PrinterColumn("Status", ".status.lastOperation.state")
_EXTENSION: Final = (_TYPE, _STATUS, AGE)
_REGIONAL_EXTENSION: Final = (_TYPE, _REGION, _STATUS, AGE)

COLUMNS: Final[Mapping[str, tuple[PrinterColumn, ...]]] = {
    "CloudProfile": (PrinterColumn("Provider", ".spec.type"), AGE),
    "NamespacedCloudProfile": (
        PrinterColumn("Parent Name", ".spec.parent.name"),
        PrinterColumn("Parent Kind", ".spec.parent.kind"),
        AGE,
    ),
    "Project": (
        PrinterColumn("Namespace", ".spec.namespace"),
        PrinterColumn("Status", ".status.phase"),
        PrinterColumn("Owner", ".spec.owner.name"),
        PrinterColumn("Creator", ".spec.createdBy.name"),
        AGE,
    ),
    "Seed": (
        _condition("Ready", "GardenletReady"),
        PrinterColumn("Last Operation", ".status.lastOperation.state"),
        PrinterColumn("Provider", ".spec.provider.type"),
        PrinterColumn("Region", ".spec.provider.region"),
        PrinterColumn("Multi-Zonal", r".metadata.labels.seed\.gardener\.cloud/multi-zonal"),
        PrinterColumn(
            "Shoots", ".status.allocatable.shoots", description="how many shoots it can take"
        ),
        PrinterColumn("Visible", ".spec.settings.scheduling.visible", "boolean", priority=1),
        PrinterColumn("Zones", ".spec.provider.zones", priority=1),
        AGE,
        PrinterColumn("Version", ".status.gardener.version"),
        PrinterColumn("K8S Version", ".status.kubernetesVersion"),
    ),
    "Shoot": (
        PrinterColumn(
            "CloudProfile",
            ".spec['cloudProfile.name','cloudProfileName']",
            description="in today's spelling or the older one",
        ),
        PrinterColumn("Provider", ".spec.provider.type"),
        PrinterColumn("Region", ".spec.region"),
        PrinterColumn("Seed", ".spec.seedName"),
        PrinterColumn("K8S Version", ".spec.kubernetes.version"),
        PrinterColumn("Hibernation", ".spec.hibernation.enabled"),
        PrinterColumn("Last Operation", ".status.lastOperation.state"),
        PrinterColumn("Status", r".metadata.labels.shoot\.gardener\.cloud/status"),
        PrinterColumn("Purpose", ".spec.purpose", priority=1),
        PrinterColumn("Scheduler", ".spec.schedulerName", priority=1),
        PrinterColumn("Gardener Version", ".status.gardener.version", priority=1),
        _condition("APIServer", "APIServerAvailable", priority=1),
        _condition("Control", "ControlPlaneHealthy", priority=1),
        _condition("Observability", "ObservabilityComponentsHealthy", priority=1),
        _condition("Nodes", "EveryNodeReady", priority=1),
        _condition("System", "SystemComponentsHealthy", priority=1),
        AGE,
    ),
    "Quota": (
        PrinterColumn("Scope", ".spec.scope.kind"),
        PrinterColumn("Cluster Lifetime", ".spec.clusterLifetimeDays", "integer"),
        AGE,
    ),
    "SecretBinding": (
        PrinterColumn("Secret", ".secretRef.name"),
        PrinterColumn("Provider", ".provider.type"),
        AGE,
    ),
    "CredentialsBinding": (
        PrinterColumn("Provider", ".provider.type"),
        PrinterColumn("APIVersion", ".credentialsRef.apiVersion"),
        PrinterColumn("Kind", ".credentialsRef.kind"),
        PrinterColumn("Credentials", ".credentialsRef.name"),
        AGE,
    ),
    "ExposureClass": (PrinterColumn("Handler", ".handler"), AGE),
    "ControllerRegistration": (PrinterColumn("Resources", ".spec.resources[*].kind"), AGE),
    "ControllerInstallation": (
        PrinterColumn("Registration", ".spec.registrationRef.name"),
        PrinterColumn("Seed", ".spec.seedRef.name"),
        _condition("Valid", "Valid"),
        _condition("Installed", "Installed"),
        _condition("Healthy", "Healthy"),
        _condition("Available", "Available", priority=1),
        AGE,
    ),
    "ManagedSeed": (
        _condition("Registered", "SeedRegistered"),
        _condition("Ready", "SeedReady"),
        PrinterColumn("Shoot", ".spec.shoot.name"),
        _condition("Shoots Ready", "ShootsReady", priority=1),
        AGE,
    ),
    "ManagedSeedSet": (
        # Gardener prints ready/desired in one column; a JSONPath of a CRD cannot join two values.
        PrinterColumn("Desired", ".spec.replicas", "integer"),
        PrinterColumn("Ready", ".status.readyReplicas", "integer"),
        PrinterColumn("Updated", ".status.updatedReplicas", "integer"),
        PrinterColumn("Pending", ".status.pendingReplica.name"),
        PrinterColumn("Reason", ".status.pendingReplica.reason"),
        PrinterColumn("Paused", ".spec.paused", "boolean", priority=1),
        PrinterColumn("Revision", ".status.updateRevision", priority=1),
        AGE,
    ),
    "SeedAutoscaler": (
        PrinterColumn("Target", ".spec.scaleTargetRef.name"),
        PrinterColumn("Min", ".spec.minReplicas", "integer"),
        PrinterColumn("Max", ".spec.maxReplicas", "integer"),
        PrinterColumn("Current", ".status.currentReplicas", "integer"),
        PrinterColumn("Desired", ".status.desiredReplicas", "integer"),
        PrinterColumn("Mode", ".spec.mode"),
        PrinterColumn("Waiting For", ".status.waitingFor"),
        _condition("Active", "ScalingActive", priority=1),
        _condition("Limited", "ScalingLimited", priority=1),
        PrinterColumn("Last Scale", ".status.lastScaleTime", "date", priority=1),
        AGE,
    ),
    "Zone": (
        _condition("Healthy", "Healthy"),
        PrinterColumn("Provider", ".spec.provider"),
        PrinterColumn("Region", ".spec.region"),
        PrinterColumn("Zone", ".spec.zone"),
        AGE,
    ),
    "Infrastructure": _REGIONAL_EXTENSION,
    "BackupInfrastructure": _REGIONAL_EXTENSION,
    "MachineCloudConfig": _EXTENSION,
    "WorkerPool": (
        PrinterColumn("Region", ".spec.region"),
        PrinterColumn("Minimum", ".spec.minimum", "integer"),
        PrinterColumn("Maximum", ".spec.maximum", "integer"),
        _STATUS,
        AGE,
    ),
    "Generic": _EXTENSION,
    "Worker": _REGIONAL_EXTENSION,
    "DNSProvider": (_TYPE, PrinterColumn("Status", ".status.state"), AGE),
    "DNSEntry": (
        PrinterColumn("DNS", ".spec.dnsName"),
        PrinterColumn("TTL", ".spec.ttl", "integer", priority=1),
        PrinterColumn("Status", ".status.state"),
        AGE,
    ),
    "Etcd": (
        PrinterColumn("Ready", ".status.ready", "boolean"),
        PrinterColumn("Cluster Size", ".spec.replicas", "integer"),
        PrinterColumn("Ready Replicas", ".status.readyReplicas", "integer"),
        AGE,
    ),
    "MachineDeployment": (
        PrinterColumn("Ready", ".status.readyReplicas", "integer"),
        PrinterColumn("Desired", ".spec.replicas", "integer"),
        PrinterColumn("Up-to-date", ".status.updatedReplicas", "integer"),
        PrinterColumn("Available", ".status.availableReplicas", "integer"),
        AGE,
    ),
    "MachineSet": (
        PrinterColumn("Desired", ".spec.replicas", "integer"),
        PrinterColumn("Current", ".status.replicas", "integer"),
        PrinterColumn("Ready", ".status.readyReplicas", "integer"),
        AGE,
    ),
    "Machine": (
        PrinterColumn("Status", ".status.currentStatus.phase"),
        AGE,
        PrinterColumn("Node", ".metadata.labels.node"),
        PrinterColumn("ProviderID", ".spec.providerID", priority=1),
    ),
    "MachineClass": (PrinterColumn("Provider", ".provider"), AGE),
    "ScheduledScaling": (
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Tortoise", ".spec.targetRefs.tortoiseName"),
        PrinterColumn("Start", ".status.window.start"),
        PrinterColumn("Finish", ".status.window.finish"),
        PrinterColumn("Replicas", ".spec.strategy.static.minimumMinReplicas", "integer"),
        PrinterColumn("Suspended", ".spec.suspend", "boolean", priority=1),
        PrinterColumn("Message", ".status.message", priority=1),
        AGE,
    ),
    "Tortoise": (
        PrinterColumn("Mode", ".spec.updateMode"),
        PrinterColumn("Phase", ".status.tortoisePhase"),
        AGE,
    ),
}
