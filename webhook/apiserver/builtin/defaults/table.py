"""DEFAULTS: which function fills in which kind."""

from collections.abc import Callable
from typing import Any, Final

from webhook.apiserver.builtin.defaults import others, pods, workloads

Object = dict[str, Any]

#: By the name of the collection: the plural and, where there is one, the group.
DEFAULTS: Final[dict[str, Callable[[Object], None]]] = {
    "endpoints": others.endpoints,
    "limitranges": others.limit_range,
    "namespaces": others.namespace,
    "pods": pods.pod,
    "secrets": others.secret,
    "services": others.service,
    "apiservices.apiregistration.k8s.io": others.api_service,
    "clusterrolebindings.rbac.authorization.k8s.io": others.binding,
    "customresourcedefinitions.apiextensions.k8s.io": others.custom_resource_definition,
    "deployments.apps": workloads.deployment,
    "endpointslices.discovery.k8s.io": others.endpoint_slice,
    "horizontalpodautoscalers.autoscaling": workloads.horizontal_pod_autoscaler,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": others.mutating_webhooks,
    "networkpolicies.networking.k8s.io": others.network_policy,
    "priorityclasses.scheduling.k8s.io": others.priority_class,
    "replicasets.apps": workloads.replica_set,
    "rolebindings.rbac.authorization.k8s.io": others.binding,
    "statefulsets.apps": workloads.stateful_set,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": others.validating_webhooks,
}


def fill(storage: str, obj: Object) -> None:
    """Fill in an object of a collection."""
    function = DEFAULTS.get(storage)
    if function is not None:
        function(obj)
