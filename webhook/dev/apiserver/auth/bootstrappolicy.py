"""The default ClusterRoles and ClusterRoleBindings, as far as they concern the served kinds."""

from collections.abc import Iterator
from typing import Final

from webhook.dev.apiserver.auth.rbac import GROUP, MASTERS
from webhook.kube.meta import Draft

_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
_ALL: Final = sorted(_READ + _WRITE)
_CREATE: Final = ["create"]
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
_PROBES: Final = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY: Final = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"]
_EVENT_GROUPS: Final = ["", "events.k8s.io"]


def _rule(verbs: list[str], groups: list[str], *resources: str) -> Draft:
    return {"verbs": verbs, "apiGroups": groups, "resources": list(resources)}


def _paths(verbs: list[str], *urls: str) -> Draft:
    return {"verbs": verbs, "nonResourceURLs": list(urls)}


_VIEW: Final = [
    _rule(_READ, [""], "configmaps", "endpoints", "pods", "serviceaccounts", "services"),
    _rule(_READ, [""], "bindings", "limitranges", "namespaces/status", "pods/log", "pods/status"),
    _rule(_READ, [""], "resourcequotas", "resourcequotas/status", "services/status"),
    _rule(_READ, [""], "namespaces"),
    _rule(_READ, _EVENT_GROUPS, "events"),
    _rule(_READ, ["discovery.k8s.io"], "endpointslices"),
    _rule(_READ, ["apps"], "controllerrevisions", "deployments", "deployments/scale"),
    _rule(_READ, ["apps"], "deployments/status", "replicasets", "replicasets/scale"),
    _rule(_READ, ["apps"], "replicasets/status", "statefulsets", "statefulsets/scale"),
    _rule(_READ, ["apps"], "statefulsets/status"),
    _rule(_READ, ["autoscaling"], "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    _rule(_READ, ["policy"], "poddisruptionbudgets", "poddisruptionbudgets/status"),
    _rule(_READ, ["networking.k8s.io"], "networkpolicies"),
]
_EDIT: Final = [
    _rule(_READ, [""], "secrets"),
    _rule(["impersonate"], [""], "serviceaccounts"),
    _rule(_WRITE, [""], "pods", "configmaps", "secrets", "serviceaccounts", "services"),
    _rule(_CREATE, [""], "pods/eviction", "serviceaccounts/token"),
    _rule(_WRITE, _EVENT_GROUPS, "events"),
    _rule(_WRITE, ["apps"], "deployments", "deployments/scale", "replicasets", "replicasets/scale"),
    _rule(_WRITE, ["apps"], "statefulsets", "statefulsets/scale"),
    _rule(_WRITE, ["autoscaling"], "horizontalpodautoscalers"),
    _rule(_WRITE, ["policy"], "poddisruptionbudgets"),
    _rule(_WRITE, ["networking.k8s.io"], "networkpolicies"),
    _rule(_ALL, ["coordination.k8s.io"], "leases"),
]
_ADMIN: Final = [
    _rule(_CREATE, ["authorization.k8s.io"], "localsubjectaccessreviews"),
    _rule(_ALL, [GROUP], "rolebindings", "roles"),
]
_SCHEDULER: Final = [
    _rule(["create", "patch", "update"], _EVENT_GROUPS, "events"),
    _rule(["create", "get", "list", "update", "watch"], ["coordination.k8s.io"], "leases"),
    _rule(["get", "list", "watch"], [""], "nodes", "namespaces", "services"),
    _rule(["delete", "get", "list", "watch"], [""], "pods"),
    _rule(_CREATE, [""], "bindings", "pods/binding"),
    _rule(["patch", "update"], [""], "pods/status"),
    _rule(_READ, ["apps"], "replicasets", "statefulsets"),
    _rule(_READ, ["policy"], "poddisruptionbudgets"),
    _rule(_CREATE, ["authentication.k8s.io"], "tokenreviews"),
    _rule(_CREATE, ["authorization.k8s.io"], "subjectaccessreviews"),
    _rule(_READ, ["storage.k8s.io", "resource.k8s.io"], "*"),
    _rule(_READ, [""], "persistentvolumeclaims", "persistentvolumes", "replicationcontrollers"),
    _rule(_READ, [""], "configmaps"),
]

ROLES: Final[dict[str, list[Draft]]] = {
    "cluster-admin": [_rule(["*"], ["*"], "*"), _paths(["*"], "*")],
    "system:aggregate-to-admin": _ADMIN,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-view": _VIEW,
    "system:auth-delegator": [
        _rule(_CREATE, ["authentication.k8s.io"], "tokenreviews"),
        _rule(_CREATE, ["authorization.k8s.io"], "subjectaccessreviews"),
    ],
    "system:basic-user": [
        _rule(
            _CREATE, ["authorization.k8s.io"], "selfsubjectaccessreviews", "selfsubjectrulesreviews"
        ),
        _rule(_CREATE, ["authentication.k8s.io"], "selfsubjectreviews"),
    ],
    "system:discovery": [_paths(["get"], *sorted(_DISCOVERY + _PROBES))],
    "system:kube-scheduler": _SCHEDULER,
    "system:public-info-viewer": [_paths(["get"], *_PROBES)],
}
"""The rules of each ClusterRole."""
_AGGREGATED: Final = {"admin": "", "edit": "admin", "view": "edit"}
"""Aggregating ClusterRoles, and the role that aggregates them in turn."""
_BINDINGS: Final = {
    "cluster-admin": (("Group", MASTERS),),
    "system:basic-user": (("Group", "system:authenticated"),),
    "system:discovery": (("Group", "system:authenticated"),),
    "system:kube-scheduler": (("User", "system:kube-scheduler"),),
    "system:public-info-viewer": (
        ("Group", "system:authenticated"),
        ("Group", "system:unauthenticated"),
    ),
}
"""The subjects of each ClusterRole."""


def roles() -> Iterator[Draft]:
    """Yield all default ClusterRoles."""
    for name, rules in ROLES.items():
        labels = {}
        if name.startswith("system:aggregate-to-"):
            labels[f"{_AGGREGATE}{name.rpartition('-')[2]}"] = "true"
        yield {**_object("ClusterRole", name, labels), "rules": rules}
    for name, above in _AGGREGATED.items():
        labels = {f"{_AGGREGATE}{above}": "true"} if above else {}
        selector = {"matchLabels": {f"{_AGGREGATE}{name}": "true"}}
        yield {
            **_object("ClusterRole", name, labels),
            "rules": None,
            "aggregationRule": {"clusterRoleSelectors": [selector]},
        }


def bindings() -> Iterator[Draft]:
    """Yield all default ClusterRoleBindings."""
    for name, subjects in _BINDINGS.items():
        yield {
            **_object("ClusterRoleBinding", name, {}),
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [
                {"kind": kind, "apiGroup": GROUP, "name": subject} for kind, subject in subjects
            ],
        }


def _object(kind: str, name: str, labels: dict[str, str]) -> Draft:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
    }
