"""BUILTINS: the table of the built-in kinds that this API server serves."""

import re
from typing import Final, NamedTuple

from typing_extensions import override

_READ_VERBS: Final = ("get", "list", "watch")
_WRITE_VERBS: Final = ("create", "delete", "deletecollection", "patch", "update")
STANDARD_VERBS: Final = tuple(sorted(_READ_VERBS + _WRITE_VERBS))
_CREATE_ONLY: Final = ("create",)
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_MODEL: Final = re.compile(r"(?P<owner>[A-Z][a-z]+)??V(?P<version>\d+)(?P<name>[A-Z].*)")


def component_of_model(model: str) -> str:
    """Return the name of the OpenAPI component of a model; its last part is the kind."""
    match = _MODEL.fullmatch(model)
    if match is None:
        raise LookupError(f"model {model} is not named like an API type")
    owner = (match["owner"] or "api").lower()
    return f"io.k8s.{owner}.v{match['version']}.{match['name']}"


class GroupVersion(NamedTuple):
    """An API group and one of its versions; the core group is the empty string."""

    group: str
    version: str

    @override
    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Subresource(NamedTuple):
    """A subresource; kind and group version are those of its body."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group_version: GroupVersion | None = None


class Builtin(NamedTuple):
    """A built-in kind: its names, its scope, its verbs and where its objects are stored."""

    group_version: GroupVersion
    kind: str
    plural: str
    model: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    stored_in: str = ""
    """The resource under which the objects are stored, if it is another one."""
    generation: bool = False
    """Whether metadata.generation counts the changes of the desired state."""

    @property
    def group(self) -> str:
        return self.group_version.group

    @property
    def version(self) -> str:
        return self.group_version.version

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def component(self) -> str:
        """The name of the OpenAPI component of the kind."""
        return component_of_model(self.model)

    @property
    def storage(self) -> str:
        """The resource under which the objects are stored, as in `pods` and `deployments.apps`."""
        return self.stored_in or (f"{self.plural}.{self.group}" if self.group else self.plural)

    @property
    def has_status(self) -> bool:
        """Whether the kind has a status subresource."""
        return any(part.name == "status" for part in self.subresources)


CORE: Final = GroupVersion("", "v1")
APPS: Final = GroupVersion("apps", "v1")
POLICY: Final = GroupVersion("policy", "v1")
NETWORKING: Final = GroupVersion("networking.k8s.io", "v1")
AUTOSCALING: Final = GroupVersion("autoscaling", "v2")
AUTOSCALING_V1: Final = GroupVersion("autoscaling", "v1")
RBAC: Final = GroupVersion("rbac.authorization.k8s.io", "v1")
AUTHENTICATION: Final = GroupVersion("authentication.k8s.io", "v1")
AUTHORIZATION: Final = GroupVersion("authorization.k8s.io", "v1")
ADMISSIONREGISTRATION: Final = GroupVersion("admissionregistration.k8s.io", "v1")
APIEXTENSIONS: Final = GroupVersion("apiextensions.k8s.io", "v1")
APIREGISTRATION: Final = GroupVersion("apiregistration.k8s.io", "v1")
SCHEDULING: Final = GroupVersion("scheduling.k8s.io", "v1")
COORDINATION: Final = GroupVersion("coordination.k8s.io", "v1")
EVENTS: Final = GroupVersion("events.k8s.io", "v1")
DISCOVERY: Final = GroupVersion("discovery.k8s.io", "v1")

_STATUS: Final = Subresource("status", _SUBRESOURCE_VERBS)
_SCALE: Final = Subresource("scale", _SUBRESOURCE_VERBS, "Scale", AUTOSCALING_V1)
_POD_SUBRESOURCES: Final = (
    Subresource("binding", _CREATE_ONLY, "Binding", CORE),
    Subresource("eviction", _CREATE_ONLY, "Eviction", POLICY),
    _STATUS,
)
_TOKEN: Final = Subresource("token", _CREATE_ONLY, "TokenRequest", AUTHENTICATION)
_FINALIZE: Final = Subresource("finalize", ("update",))
_NAMESPACE_VERBS: Final = tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection")
_CATEGORY_ALL: Final = ("all",)
_CATEGORY_EXTENSIONS: Final = ("api-extensions",)

BUILTINS: Final = (
    Builtin(CORE, "Binding", "bindings", "V1Binding", verbs=_CREATE_ONLY),
    Builtin(CORE, "ConfigMap", "configmaps", "V1ConfigMap", short_names=("cm",)),
    Builtin(CORE, "Endpoints", "endpoints", "V1Endpoints", short_names=("ep",)),
    Builtin(CORE, "Event", "events", "CoreV1Event", short_names=("ev",)),
    Builtin(CORE, "LimitRange", "limitranges", "V1LimitRange", short_names=("limits",)),
    Builtin(
        CORE,
        "Namespace",
        "namespaces",
        "V1Namespace",
        namespaced=False,
        short_names=("ns",),
        verbs=_NAMESPACE_VERBS,
        subresources=(_FINALIZE, _STATUS),
    ),
    Builtin(
        CORE,
        "Node",
        "nodes",
        "V1Node",
        namespaced=False,
        short_names=("no",),
        subresources=(_STATUS,),
    ),
    Builtin(
        CORE,
        "Pod",
        "pods",
        "V1Pod",
        short_names=("po",),
        categories=_CATEGORY_ALL,
        subresources=_POD_SUBRESOURCES,
        generation=True,
    ),
    Builtin(
        CORE,
        "ResourceQuota",
        "resourcequotas",
        "V1ResourceQuota",
        short_names=("quota",),
        subresources=(_STATUS,),
    ),
    Builtin(CORE, "Secret", "secrets", "V1Secret"),
    Builtin(
        CORE,
        "ServiceAccount",
        "serviceaccounts",
        "V1ServiceAccount",
        short_names=("sa",),
        subresources=(_TOKEN,),
    ),
    Builtin(
        CORE,
        "Service",
        "services",
        "V1Service",
        short_names=("svc",),
        categories=_CATEGORY_ALL,
        subresources=(_STATUS,),
    ),
    Builtin(
        ADMISSIONREGISTRATION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "V1MutatingWebhookConfiguration",
        namespaced=False,
        categories=_CATEGORY_EXTENSIONS,
        generation=True,
    ),
    Builtin(
        ADMISSIONREGISTRATION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "V1ValidatingWebhookConfiguration",
        namespaced=False,
        categories=_CATEGORY_EXTENSIONS,
        generation=True,
    ),
    Builtin(
        APIEXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "V1CustomResourceDefinition",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=_CATEGORY_EXTENSIONS,
        subresources=(_STATUS,),
        generation=True,
    ),
    Builtin(
        APIREGISTRATION,
        "APIService",
        "apiservices",
        "V1APIService",
        namespaced=False,
        categories=_CATEGORY_EXTENSIONS,
        subresources=(_STATUS,),
    ),
    Builtin(APPS, "ControllerRevision", "controllerrevisions", "V1ControllerRevision"),
    Builtin(
        APPS,
        "Deployment",
        "deployments",
        "V1Deployment",
        short_names=("deploy",),
        categories=_CATEGORY_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        APPS,
        "ReplicaSet",
        "replicasets",
        "V1ReplicaSet",
        short_names=("rs",),
        categories=_CATEGORY_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        APPS,
        "StatefulSet",
        "statefulsets",
        "V1StatefulSet",
        short_names=("sts",),
        categories=_CATEGORY_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        AUTHENTICATION,
        "SelfSubjectReview",
        "selfsubjectreviews",
        "V1SelfSubjectReview",
        namespaced=False,
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTHENTICATION,
        "TokenReview",
        "tokenreviews",
        "V1TokenReview",
        namespaced=False,
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        "V1LocalSubjectAccessReview",
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "V1SelfSubjectAccessReview",
        namespaced=False,
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTHORIZATION,
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "V1SelfSubjectRulesReview",
        namespaced=False,
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTHORIZATION,
        "SubjectAccessReview",
        "subjectaccessreviews",
        "V1SubjectAccessReview",
        namespaced=False,
        verbs=_CREATE_ONLY,
    ),
    Builtin(
        AUTOSCALING,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "V2HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=_CATEGORY_ALL,
        subresources=(_STATUS,),
    ),
    Builtin(
        AUTOSCALING_V1,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "V1HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=_CATEGORY_ALL,
        subresources=(_STATUS,),
    ),
    Builtin(COORDINATION, "Lease", "leases", "V1Lease"),
    Builtin(DISCOVERY, "EndpointSlice", "endpointslices", "V1EndpointSlice", generation=True),
    Builtin(EVENTS, "Event", "events", "EventsV1Event", short_names=("ev",), stored_in="events"),
    Builtin(
        NETWORKING,
        "NetworkPolicy",
        "networkpolicies",
        "V1NetworkPolicy",
        short_names=("netpol",),
        generation=True,
    ),
    Builtin(
        POLICY,
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "V1PodDisruptionBudget",
        short_names=("pdb",),
        subresources=(_STATUS,),
        generation=True,
    ),
    Builtin(
        RBAC, "ClusterRoleBinding", "clusterrolebindings", "V1ClusterRoleBinding", namespaced=False
    ),
    Builtin(RBAC, "ClusterRole", "clusterroles", "V1ClusterRole", namespaced=False),
    Builtin(RBAC, "RoleBinding", "rolebindings", "V1RoleBinding"),
    Builtin(RBAC, "Role", "roles", "V1Role"),
    Builtin(
        SCHEDULING,
        "PriorityClass",
        "priorityclasses",
        "V1PriorityClass",
        namespaced=False,
        short_names=("pc",),
        generation=True,
    ),
)

SUBRESOURCE_BODIES: Final = {
    "Eviction": Builtin(POLICY, "Eviction", "evictions", "V1Eviction", verbs=_CREATE_ONLY),
    "TokenRequest": Builtin(
        AUTHENTICATION,
        "TokenRequest",
        "tokenrequests",
        "AuthenticationV1TokenRequest",
        verbs=_CREATE_ONLY,
    ),
    "Binding": BUILTINS[0],
}
"""The kinds of the bodies that are sent to subresources."""

BODY_MODELS: Final = {
    "Eviction": "V1Eviction",
    "Scale": "V1Scale",
    "TokenRequest": "AuthenticationV1TokenRequest",
    "DeleteOptions": "V1DeleteOptions",
    "Status": "V1Status",
}
"""The models of kinds that occur only as the body of a subresource or as options."""
