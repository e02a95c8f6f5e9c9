"""DEFAULTS: the defaulting function of each built-in kind."""

from collections.abc import Callable
from typing import Final

from webhook.dev.apiserver.builtin.defaults import others, pods, workloads
from webhook.kube.meta import Draft

DEFAULTS: Final[dict[str, Callable[[Draft], None]]] = {
    "endpoints": others.set_endpoints_defaults,
    "limitranges": others.set_limit_range_defaults,
    "namespaces": others.set_namespace_defaults,
    "pods": pods.set_pod_defaults,
    "secrets": others.set_secret_defaults,
    "services": others.set_service_defaults,
    "apiservices.apiregistration.k8s.io": others.set_api_service_defaults,
    "clusterrolebindings.rbac.authorization.k8s.io": others.set_binding_defaults,
    "customresourcedefinitions.apiextensions.k8s.io": (
        others.set_custom_resource_definition_defaults
    ),
    "deployments.apps": workloads.set_deployment_defaults,
    "endpointslices.discovery.k8s.io": others.set_endpoint_slice_defaults,
    "horizontalpodautoscalers.autoscaling": workloads.set_horizontal_pod_autoscaler_defaults,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": (
        others.set_mutating_webhooks_defaults
    ),
    "networkpolicies.networking.k8s.io": others.set_network_policy_defaults,
    "priorityclasses.scheduling.k8s.io": others.set_priority_class_defaults,
    "replicasets.apps": workloads.set_replica_set_defaults,
    "rolebindings.rbac.authorization.k8s.io": others.set_binding_defaults,
    "statefulsets.apps": workloads.set_stateful_set_defaults,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": (
        others.set_validating_webhooks_defaults
    ),
}
"""The defaulting functions by resource, as in `pods` and `deployments.apps`."""


def set_defaults(storage: str, obj: Draft) -> None:
    """Set the defaults of an object in place."""
    function = DEFAULTS.get(storage)
    if function is not None:
        function(obj)
