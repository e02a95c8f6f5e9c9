"""PRINTER_COLUMNS: the columns of each built-in kind."""

from typing import Final

from webhook.dev.apiserver.builtin.printing import others, pods, workloads
from webhook.dev.apiserver.builtin.printing.cells import CREATED, NAME, PrinterColumn

PRINTER_COLUMNS: Final[dict[str, tuple[PrinterColumn, ...]]] = {
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
"""The columns by resource; kinds that are not listed have a name and a time of creation."""


def printer_columns(storage: str) -> tuple[PrinterColumn, ...]:
    """Return the columns of a resource."""
    return PRINTER_COLUMNS.get(storage, (NAME, CREATED))
