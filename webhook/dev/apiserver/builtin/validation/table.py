"""VALIDATORS: the functions that validate each built-in kind."""

from collections.abc import Callable
from typing import Final, NamedTuple

from webhook.dev.apiserver.builtin.validation import (
    configdata,
    crds,
    events,
    others,
    pods,
    rbac,
    services,
    statuses,
    webhookconfigs,
    workloads,
)
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Raw


class Validator(NamedTuple):
    """The validation of a kind: of every object, and in addition of updates and of new objects."""

    validate: Callable[[Raw], Errors]
    validate_update: Callable[[Raw, Raw], Errors] | None = None
    validate_create: Callable[[Raw], Errors] | None = None
    validate_status: Callable[[Raw], Errors] | None = None
    """Of the status subresource, instead of all others."""


VALIDATORS: Final[dict[str, Validator]] = {
    "configmaps": Validator(configdata.validate_config_map, configdata.validate_config_map_update),
    "endpoints": Validator(services.validate_endpoints),
    "events": Validator(events.validate_core_event),
    "events.events.k8s.io": Validator(
        events.validate_events_v1_event,
        events.validate_events_v1_event_update,
        events.validate_events_v1_event_create,
    ),
    "limitranges": Validator(others.validate_limit_range),
    "namespaces": Validator(others.validate_namespace),
    "nodes": Validator(others.validate_node),
    "pods": Validator(pods.validate_pod, pods.validate_pod_update),
    "resourcequotas": Validator(others.validate_resource_quota),
    "secrets": Validator(configdata.validate_secret, configdata.validate_secret_update),
    "services": Validator(services.validate_service, services.validate_service_update),
    "apiservices.apiregistration.k8s.io": Validator(others.validate_api_service),
    "clusterrolebindings.rbac.authorization.k8s.io": Validator(
        rbac.validate_cluster_role_binding, rbac.validate_binding_update
    ),
    "clusterroles.rbac.authorization.k8s.io": Validator(rbac.validate_cluster_role),
    "controllerrevisions.apps": Validator(
        workloads.validate_controller_revision, workloads.validate_controller_revision_update
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Validator(
        crds.validate_crd, crds.validate_crd_update
    ),
    "deployments.apps": Validator(
        workloads.validate_deployment,
        workloads.validate_selector_update,
        validate_status=statuses.validate_workload_status,
    ),
    "horizontalpodautoscalers.autoscaling": Validator(workloads.validate_horizontal_pod_autoscaler),
    "leases.coordination.k8s.io": Validator(others.validate_lease),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Validator(
        webhookconfigs.validate_mutating_webhooks
    ),
    "networkpolicies.networking.k8s.io": Validator(services.validate_network_policy),
    "poddisruptionbudgets.policy": Validator(workloads.validate_pod_disruption_budget),
    "priorityclasses.scheduling.k8s.io": Validator(
        others.validate_priority_class, others.validate_priority_class_update
    ),
    "replicasets.apps": Validator(
        workloads.validate_replica_set,
        workloads.validate_selector_update,
        validate_status=statuses.validate_workload_status,
    ),
    "rolebindings.rbac.authorization.k8s.io": Validator(
        rbac.validate_role_binding, rbac.validate_binding_update
    ),
    "roles.rbac.authorization.k8s.io": Validator(rbac.validate_role),
    "statefulsets.apps": Validator(
        workloads.validate_stateful_set,
        workloads.validate_stateful_set_update,
        validate_status=statuses.validate_workload_status,
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Validator(
        webhookconfigs.validate_validating_webhooks
    ),
}


def validate_builtin(storage: str, obj: Raw, old: Raw | None = None) -> list[FieldError]:
    """Return the errors of a new object, or of an update if `old` is given."""
    validator = VALIDATORS.get(storage)
    if validator is None:
        return []
    errors = list(validator.validate(obj))
    if old is not None and validator.validate_update is not None:
        errors += validator.validate_update(obj, old)
    if old is None and validator.validate_create is not None:
        errors += validator.validate_create(obj)
    return errors


def validate_builtin_status(storage: str, obj: Raw) -> list[FieldError]:
    """Return the errors of an object whose status subresource is written."""
    validator = VALIDATORS.get(storage)
    if validator is None or validator.validate_status is None:
        return []
    return list(validator.validate_status(obj))
