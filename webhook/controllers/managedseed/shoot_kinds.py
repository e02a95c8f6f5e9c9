"""Kinds of Kubernetes that exist in the clusters of shoots and are not in the table of kinds."""

from functools import partial
from typing import Final

from webhook.api.kinds import Kind
from webhook.kube.meta import Object

_kind = partial(Kind, version="v1", model=Object, origin="kubernetes", status=False)
_cluster_wide = partial(_kind, namespaced=False)

_RBAC: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLE: Final = _cluster_wide(group=_RBAC, name="ClusterRole", plural="clusterroles")
CLUSTER_ROLE_BINDING: Final = _cluster_wide(
    group=_RBAC, name="ClusterRoleBinding", plural="clusterrolebindings"
)
PRIORITY_CLASS: Final = _cluster_wide(
    group="scheduling.k8s.io", name="PriorityClass", plural="priorityclasses"
)
SERVICE: Final = _kind(group="", name="Service", plural="services")
NETWORK_POLICY: Final = _kind(
    group="networking.k8s.io", name="NetworkPolicy", plural="networkpolicies"
)
POD_DISRUPTION_BUDGET: Final = _kind(
    group="policy", name="PodDisruptionBudget", plural="poddisruptionbudgets"
)
VERTICAL_POD_AUTOSCALER: Final = _kind(
    group="autoscaling.k8s.io", name="VerticalPodAutoscaler", plural="verticalpodautoscalers"
)
