"""PRINTED: the columns of each built-in kind."""

from typing import Final

from webhook.apiserver.builtin.printing import others, pods, workloads
from webhook.apiserver.builtin.printing.cells import CREATED, NAME, Heading

#: By the name of the collection; kinds that are not here show name and date of creation.
PRINTED: Final[dict[str, tuple[Heading, ...]]] = {
    "configmaps": others.CONFIG_MAP,
    "endpoints": others.ENDPOINTS,
    "events": others.EVENT,
    "namespaces": others.NAMESPACE,
    "nodes": pods.NODE,
    "pods": pods.POD,
    "resourcequotas": others.QUOTA,
    "secrets": others.SECRET,
    "serviceaccounts": others.SERVICE_ACCOUNT,
    "services": others.SERVICE,
    "apiservices.apiregistration.k8s.io": others.API_SERVICE,
    "clusterrolebindings.rbac.authorization.k8s.io": others.BINDING,
    "controllerrevisions.apps": workloads.CONTROLLER_REVISION,
    "deployments.apps": workloads.DEPLOYMENT,
    "endpointslices.discovery.k8s.io": others.ENDPOINT_SLICE,
    "horizontalpodautoscalers.autoscaling": workloads.AUTOSCALER,
    "leases.coordination.k8s.io": others.LEASE,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": others.WEBHOOKS,
    "networkpolicies.networking.k8s.io": others.NETWORK_POLICY,
    "poddisruptionbudgets.policy": workloads.BUDGET,
    "priorityclasses.scheduling.k8s.io": others.PRIORITY_CLASS,
    "replicasets.apps": workloads.REPLICA_SET,
    "scales.autoscaling": workloads.SCALE,
    "rolebindings.rbac.authorization.k8s.io": others.BINDING,
    "statefulsets.apps": workloads.STATEFUL_SET,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": others.WEBHOOKS,
}


def headings(storage: str) -> tuple[Heading, ...]:
    """Return the columns of a collection."""
    return PRINTED.get(storage, (NAME, CREATED))
