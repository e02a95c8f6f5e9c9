"""The markers of fields that kubernetes_asyncio's models lack: list types, patches, formats.

A field is named `Type.field`. Lists without a marker are atomic for server-side apply and are
replaced by a strategic merge patch. Objects are merged field by field unless their type is atomic.
"""

from typing import Any, Final

_MERGE: Final = "merge"
_MERGE_RETAIN: Final = "merge,retainKeys"


def _list_map(*keys: str, strategy: str = _MERGE) -> dict[str, Any]:
    marker: dict[str, Any] = {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
    }
    if strategy:
        marker["x-kubernetes-patch-strategy"] = strategy
        marker["x-kubernetes-patch-merge-key"] = keys[0]
    return marker


_SET: Final = {"x-kubernetes-list-type": "set"}
_MERGED_SET: Final = {**_SET, "x-kubernetes-patch-strategy": _MERGE}
_ATOMIC_MAP: Final = {"x-kubernetes-map-type": "atomic"}
_CONDITIONS: Final = _list_map("type")
_PORTS: Final = _list_map("containerPort", "protocol")

FIELD_MARKERS: Final[dict[str, dict[str, Any]]] = {
    "APIServiceStatus.conditions": _CONDITIONS,
    "Container.env": _list_map("name"),
    "Container.ports": _PORTS,
    "Container.volumeDevices": _list_map("devicePath"),
    "Container.volumeMounts": _list_map("mountPath"),
    "ContainerRestartRuleOnExitCodes.values": _SET,
    "ContainerStatus.allocatedResourcesStatus": _list_map("name"),
    "ContainerStatus.volumeMounts": _list_map("mountPath"),
    "CustomResourceDefinitionStatus.conditions": _list_map("type", strategy=""),
    "DeploymentSpec.strategy": {"x-kubernetes-patch-strategy": "retainKeys"},
    "DeploymentStatus.conditions": _CONDITIONS,
    "Endpoint.addresses": _SET,
    "EphemeralContainer.env": _list_map("name"),
    "EphemeralContainer.ports": _PORTS,
    "EphemeralContainer.volumeDevices": _list_map("devicePath"),
    "EphemeralContainer.volumeMounts": _list_map("mountPath"),
    "HorizontalPodAutoscalerStatus.conditions": _CONDITIONS,
    "JSONSchemaProps.x-kubernetes-validations": _list_map("rule"),
    "MutatingWebhook.matchConditions": _list_map("name"),
    "MutatingWebhookConfiguration.webhooks": _list_map("name"),
    "NamespaceStatus.conditions": _CONDITIONS,
    "NodeAllocatableResourceClaimStatus.containers": _SET,
    "NodeSpec.podCIDRs": _MERGED_SET,
    "NodeStatus.addresses": _list_map("type"),
    "NodeStatus.conditions": _CONDITIONS,
    "ObjectMeta.finalizers": _MERGED_SET,
    "ObjectMeta.ownerReferences": _list_map("uid"),
    "PersistentVolumeClaimStatus.allocatedResourceStatuses": {"x-kubernetes-map-type": "granular"},
    "PersistentVolumeClaimStatus.conditions": _CONDITIONS,
    "PodDisruptionBudgetSpec.selector": {"x-kubernetes-patch-strategy": "replace"},
    "PodDisruptionBudgetStatus.conditions": _CONDITIONS,
    "PodSpec.containers": _list_map("name"),
    "PodSpec.ephemeralContainers": _list_map("name"),
    "PodSpec.hostAliases": _list_map("ip"),
    "PodSpec.imagePullSecrets": _list_map("name"),
    "PodSpec.initContainers": _list_map("name"),
    "PodSpec.nodeSelector": _ATOMIC_MAP,
    "PodSpec.resourceClaims": _list_map("name", strategy=_MERGE_RETAIN),
    "PodSpec.schedulingGates": _list_map("name"),
    "PodSpec.topologySpreadConstraints": _list_map("topologyKey", "whenUnsatisfiable"),
    "PodSpec.volumes": _list_map("name", strategy=_MERGE_RETAIN),
    "PodStatus.conditions": _CONDITIONS,
    "PodStatus.hostIPs": {
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-patch-strategy": _MERGE,
        "x-kubernetes-patch-merge-key": "ip",
    },
    "PodStatus.podIPs": _list_map("ip"),
    "PodStatus.resourceClaimStatuses": _list_map("name", strategy=_MERGE_RETAIN),
    "ReplicaSetStatus.conditions": _CONDITIONS,
    "ResourceRequirements.claims": _list_map("name", strategy=""),
    "ResourceStatus.resources": _list_map("resourceID", strategy=""),
    "ServiceAccount.secrets": _list_map("name"),
    "ServiceSpec.ports": _list_map("port", "protocol"),
    "ServiceSpec.selector": _ATOMIC_MAP,
    "ServiceStatus.conditions": _CONDITIONS,
    "StatefulSetStatus.conditions": _CONDITIONS,
    "ValidatingWebhook.matchConditions": _list_map("name"),
    "ValidatingWebhookConfiguration.webhooks": _list_map("name"),
    "ControllerRevision.data": _ATOMIC_MAP,
    # A list map key that may be omitted needs a default to identify the item.
    "ContainerPort.protocol": {"default": "TCP"},
    "ServicePort.protocol": {"default": "TCP"},
}
"""OpenAPI extensions and defaults, by field."""

WRITTEN_EMPTY_OBJECTS: Final = frozenset(
    {
        "Container.resources",
        "ContainerStatus.lastState",
        "ContainerStatus.state",
        "DeploymentSpec.strategy",
        "Endpoint.conditions",
        "Event.deprecatedSource",
        "Event.regarding",
        "Event.source",
        "NetworkPolicySpec.podSelector",
        "NodeDaemonEndpoints.kubeletEndpoint",
        "NodeStatus.daemonEndpoints",
        "NodeStatus.nodeInfo",
        "PersistentVolumeClaimSpec.resources",
        "ReplicaSetSpec.template",
        "ServiceStatus.loadBalancer",
        "StatefulSetSpec.updateStrategy",
        "TokenReviewStatus.user",
    }
)
"""Objects that are written even if empty, besides metadata, spec, status and required ones."""

NULLABLE: Final = frozenset(
    {
        "ClusterRole.rules",
        "DeploymentSpec.selector",
        "ReplicaSetSpec.selector",
        "Role.rules",
        "StatefulSetSpec.selector",
    }
)
"""Objects and lists that are written as null if they are absent."""

OMITTED_REQUIRED: Final = frozenset(
    {
        "MutatingWebhook.sideEffects",
        "TokenReviewSpec.token",
        "ValidatingWebhook.sideEffects",
    }
)
"""Required scalars that are not written if they are absent."""

WRITTEN_ZEROS: Final[dict[str, Any]] = {
    "Event.reportingComponent": "",
    "Event.reportingInstance": "",
    "PodDisruptionBudgetStatus.currentHealthy": 0,
    "PodDisruptionBudgetStatus.desiredHealthy": 0,
    "PodDisruptionBudgetStatus.disruptionsAllowed": 0,
    "PodDisruptionBudgetStatus.expectedPods": 0,
    "PriorityClass.value": 0,
    "RoleRef.apiGroup": "",
    "StatefulSetSpec.serviceName": "",
    "StatefulSetStatus.availableReplicas": 0,
}
"""Scalars that are written even if empty, in addition to required ones, with their zero values."""

NULL_TIMES: Final = frozenset(
    {
        "APIServiceCondition.lastTransitionTime",
        "Condition.lastTransitionTime",
        "ContainerStateRunning.startedAt",
        "ContainerStateTerminated.finishedAt",
        "ContainerStateTerminated.startedAt",
        "CustomResourceDefinitionCondition.lastTransitionTime",
        "DeploymentCondition.lastTransitionTime",
        "DeploymentCondition.lastUpdateTime",
        "Event.deprecatedFirstTimestamp",
        "Event.deprecatedLastTimestamp",
        "Event.eventTime",
        "Event.firstTimestamp",
        "Event.lastTimestamp",
        "EventSeries.lastObservedTime",
        "HorizontalPodAutoscalerCondition.lastTransitionTime",
        "NamespaceCondition.lastTransitionTime",
        "NodeCondition.lastHeartbeatTime",
        "NodeCondition.lastTransitionTime",
        "PodCondition.lastProbeTime",
        "PodCondition.lastTransitionTime",
        "ReplicaSetCondition.lastTransitionTime",
        "StatefulSetCondition.lastTransitionTime",
        "TokenRequestStatus.expirationTimestamp",
    }
)
"""Times that are written as null if they are absent."""

OMITTED_ZEROS: Final = frozenset(
    {
        "APIServiceSpec.insecureSkipTLSVerify",
        "Condition.observedGeneration",
        "Container.stdin",
        "Container.stdinOnce",
        "Container.tty",
        "ContainerPort.hostPort",
        "CustomResourceColumnDefinition.priority",
        "CustomResourceDefinitionSpec.preserveUnknownFields",
        "CustomResourceDefinitionStatus.observedGeneration",
        "CustomResourceDefinitionVersion.deprecated",
        "DeploymentSpec.minReadySeconds",
        "DeploymentSpec.paused",
        "DeploymentStatus.availableReplicas",
        "DeploymentStatus.observedGeneration",
        "DeploymentStatus.readyReplicas",
        "DeploymentStatus.replicas",
        "DeploymentStatus.unavailableReplicas",
        "DeploymentStatus.updatedReplicas",
        "Event.count",
        "Event.deprecatedCount",
        "EventSeries.count",
        "HorizontalPodAutoscalerStatus.currentReplicas",
        "JSONSchemaProps.exclusiveMaximum",
        "JSONSchemaProps.exclusiveMinimum",
        "JSONSchemaProps.nullable",
        "JSONSchemaProps.uniqueItems",
        "JSONSchemaProps.x-kubernetes-embedded-resource",
        "JSONSchemaProps.x-kubernetes-int-or-string",
        "NodeSpec.unschedulable",
        "ObjectMeta.generation",
        "PodDisruptionBudgetStatus.observedGeneration",
        "PodSpec.hostIPC",
        "PodSpec.hostNetwork",
        "PodSpec.hostPID",
        "PodStatus.observedGeneration",
        "PriorityClass.globalDefault",
        "Probe.initialDelaySeconds",
        "ReplicaSetSpec.minReadySeconds",
        "ReplicaSetStatus.availableReplicas",
        "ReplicaSetStatus.fullyLabeledReplicas",
        "ReplicaSetStatus.observedGeneration",
        "ReplicaSetStatus.readyReplicas",
        "ScaleSpec.replicas",
        "ServicePort.nodePort",
        "ServiceSpec.healthCheckNodePort",
        "ServiceSpec.publishNotReadyAddresses",
        "StatefulSetSpec.minReadySeconds",
        "StatefulSetStatus.currentReplicas",
        "StatefulSetStatus.observedGeneration",
        "StatefulSetStatus.readyReplicas",
        "StatefulSetStatus.updatedReplicas",
        "SubjectAccessReviewStatus.denied",
        "TokenReviewStatus.authenticated",
        "VolumeMount.readOnly",
    }
)
"""Numbers and booleans that are not written if they are zero or false."""

ATOMIC_TYPES: Final = frozenset(
    {
        "ConfigMapKeySelector",
        "EndpointAddress",
        "EndpointPort",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ResourceFieldSelector",
        "RoleRef",
        "ScopeSelector",
        "SecretKeySelector",
        "Subject",
        "TypedLocalObjectReference",
    }
)
"""Types whose values are owned and replaced as a whole."""

INT64: Final = frozenset(
    {
        "Condition.observedGeneration",
        "ContainerImage.sizeBytes",
        "ControllerRevision.revision",
        "CustomResourceDefinitionCondition.observedGeneration",
        "CustomResourceDefinitionStatus.observedGeneration",
        "DeleteOptions.gracePeriodSeconds",
        "DeploymentStatus.observedGeneration",
        "HorizontalPodAutoscalerStatus.observedGeneration",
        "JSONSchemaProps.maxItems",
        "JSONSchemaProps.maxLength",
        "JSONSchemaProps.maxProperties",
        "JSONSchemaProps.minItems",
        "JSONSchemaProps.minLength",
        "JSONSchemaProps.minProperties",
        "LinuxContainerUser.gid",
        "LinuxContainerUser.supplementalGroups",
        "LinuxContainerUser.uid",
        "ListMeta.remainingItemCount",
        "NodeSwapStatus.capacity",
        "ObjectMeta.deletionGracePeriodSeconds",
        "ObjectMeta.generation",
        "PodCondition.observedGeneration",
        "PodDisruptionBudgetStatus.observedGeneration",
        "PodSecurityContext.fsGroup",
        "PodSecurityContext.runAsGroup",
        "PodSecurityContext.runAsUser",
        "PodSecurityContext.supplementalGroups",
        "PodSpec.activeDeadlineSeconds",
        "PodSpec.terminationGracePeriodSeconds",
        "PodStatus.observedGeneration",
        "Probe.terminationGracePeriodSeconds",
        "ReplicaSetStatus.observedGeneration",
        "SecurityContext.runAsGroup",
        "SecurityContext.runAsUser",
        "ServiceAccountTokenProjection.expirationSeconds",
        "SleepAction.seconds",
        "StatefulSetStatus.observedGeneration",
        "TokenRequestSpec.expirationSeconds",
        "Toleration.tolerationSeconds",
    }
)
"""Integers of 64 bits; all others have 32."""

INT_OR_STRING: Final = frozenset(
    {
        "HTTPGetAction.port",
        "NetworkPolicyPort.port",
        "PodDisruptionBudgetSpec.maxUnavailable",
        "PodDisruptionBudgetSpec.minAvailable",
        "RollingUpdateDeployment.maxSurge",
        "RollingUpdateDeployment.maxUnavailable",
        "RollingUpdateStatefulSetStrategy.maxUnavailable",
        "ServicePort.targetPort",
        "TCPSocketAction.port",
    }
)

QUANTITIES: Final = frozenset(
    {
        "ContainerStatus.allocatedResources",
        "EmptyDirVolumeSource.sizeLimit",
        "HPAScalingRules.tolerance",
        "LimitRangeItem.default",
        "LimitRangeItem.defaultRequest",
        "LimitRangeItem.max",
        "LimitRangeItem.maxLimitRequestRatio",
        "LimitRangeItem.min",
        "MetricTarget.averageValue",
        "MetricTarget.value",
        "MetricValueStatus.averageValue",
        "MetricValueStatus.value",
        "NodeAllocatableResourceClaimStatus.resources",
        "NodeStatus.allocatable",
        "NodeStatus.capacity",
        "PersistentVolumeClaimStatus.allocatedResources",
        "PersistentVolumeClaimStatus.capacity",
        "PodSpec.overhead",
        "PodStatus.allocatedResources",
        "ResourceFieldSelector.divisor",
        "ResourceQuotaSpec.hard",
        "ResourceQuotaStatus.hard",
        "ResourceQuotaStatus.used",
        "ResourceRequirements.limits",
        "ResourceRequirements.requests",
        "VolumeResourceRequirements.limits",
        "VolumeResourceRequirements.requests",
    }
)
"""Quantities, and maps of them."""

BYTES: Final = frozenset(
    {
        "APIServiceSpec.caBundle",
        "ConfigMap.binaryData",
        "Secret.data",
        "WebhookClientConfig.caBundle",
    }
)
"""Base64 text, and maps of it."""

MICRO_TIMES: Final = frozenset(
    {
        "Event.eventTime",
        "EventSeries.lastObservedTime",
        "LeaseSpec.acquireTime",
        "LeaseSpec.renewTime",
    }
)

FREE_OBJECTS: Final = frozenset({"ControllerRevision.data", "ManagedFieldsEntry.fieldsV1"})
"""Objects with any content; other fields of the model type `object` may be any JSON value."""
