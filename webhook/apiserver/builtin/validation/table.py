"""JUDGES: which functions judge which kind, when it is new and when it changes."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from webhook.api.fielderrors import FieldError
from webhook.apiserver.builtin.validation import (
    data,
    definitions,
    events,
    others,
    pods,
    rbac,
    services,
    webhookconfigs,
    workloads,
)
from webhook.apiserver.builtin.validation.checks import Errors

Object = dict[str, Any]


class Judge(NamedTuple):
    """What is looked at always, and what besides when an object changes or is created."""

    always: Callable[[Object], Errors]
    change: Callable[[Object, Object], Errors] | None = None
    creation: Callable[[Object], Errors] | None = None


JUDGES: Final[dict[str, Judge]] = {
    "configmaps": Judge(data.config_map, data.config_map_update),
    "endpoints": Judge(services.endpoints),
    "events": Judge(events.core_event),
    "events.events.k8s.io": Judge(
        events.new_event, events.new_event_update, events.new_event_create
    ),
    "limitranges": Judge(others.limit_range),
    "namespaces": Judge(others.namespace),
    "nodes": Judge(others.node),
    "pods": Judge(pods.pod, pods.pod_update),
    "resourcequotas": Judge(others.resource_quota),
    "secrets": Judge(data.secret, data.secret_update),
    "services": Judge(services.service, services.service_update),
    "apiservices.apiregistration.k8s.io": Judge(others.api_service),
    "clusterrolebindings.rbac.authorization.k8s.io": Judge(
        rbac.cluster_role_binding, rbac.binding_update
    ),
    "clusterroles.rbac.authorization.k8s.io": Judge(rbac.cluster_role),
    "controllerrevisions.apps": Judge(
        workloads.controller_revision, workloads.controller_revision_update
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Judge(
        definitions.definition, definitions.definition_update
    ),
    "deployments.apps": Judge(workloads.deployment, workloads.selector_update),
    "horizontalpodautoscalers.autoscaling": Judge(workloads.autoscaler),
    "leases.coordination.k8s.io": Judge(others.lease),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Judge(webhookconfigs.mutating),
    "networkpolicies.networking.k8s.io": Judge(services.network_policy),
    "poddisruptionbudgets.policy": Judge(workloads.disruption_budget),
    "priorityclasses.scheduling.k8s.io": Judge(others.priority_class, others.priority_class_update),
    "replicasets.apps": Judge(workloads.replica_set, workloads.selector_update),
    "rolebindings.rbac.authorization.k8s.io": Judge(rbac.role_binding, rbac.binding_update),
    "roles.rbac.authorization.k8s.io": Judge(rbac.role),
    "statefulsets.apps": Judge(workloads.stateful_set, workloads.stateful_set_update),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Judge(
        webhookconfigs.validating
    ),
}


def objections(storage: str, obj: Object, old: Object | None = None) -> list[FieldError]:
    """List every objection to a new or changed object of a collection."""
    judge = JUDGES.get(storage)
    if judge is None:
        return []
    found = list(judge.always(obj))
    if old is not None and judge.change is not None:
        found += judge.change(obj, old)
    if old is None and judge.creation is not None:
        found += judge.creation(obj)
    return found
