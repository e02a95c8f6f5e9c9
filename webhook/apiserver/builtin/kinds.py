"""BUILTINS: the one table of the built-in kinds this API server serves."""

from typing import Final, NamedTuple

from typing_extensions import override

_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
STANDARD: Final = tuple(sorted(_READ + _WRITE))
_CREATE: Final = ("create",)
_PART: Final = ("get", "patch", "update")


class GroupVersion(NamedTuple):
    """An API group and one of its versions; the core group is the empty string."""

    group: str
    version: str

    @override
    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Subresource(NamedTuple):
    """A path below an object; kind and group version are those of its body."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group_version: GroupVersion | None = None


class Builtin(NamedTuple):
    """One built-in kind: how it is named, where it lives, what may be done with it."""

    group_version: GroupVersion
    kind: str
    plural: str
    model: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD
    subresources: tuple[Subresource, ...] = ()
    stored_in: str = ""
    """The collection of another kind that holds the objects."""
    generation: bool = False
    """Whether the server counts changes of the desired state in metadata.generation."""

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
    def storage(self) -> str:
        """The name of the collection that holds the objects."""
        return self.stored_in or (f"{self.plural}.{self.group}" if self.group else self.plural)

    @property
    def has_status(self) -> bool:
        """Whether status is written apart from the rest."""
        return any(part.name == "status" for part in self.subresources)

    @property
    def virtual(self) -> bool:
        """Whether a create is a question that is answered and not stored."""
        return self.verbs == _CREATE


CORE: Final = GroupVersion("", "v1")
APPS: Final = GroupVersion("apps", "v1")
POLICY: Final = GroupVersion("policy", "v1")
NETWORKING: Final = GroupVersion("networking.k8s.io", "v1")
AUTOSCALING: Final = GroupVersion("autoscaling", "v2")
OLD_AUTOSCALING: Final = GroupVersion("autoscaling", "v1")
RBAC: Final = GroupVersion("rbac.authorization.k8s.io", "v1")
AUTHENTICATION: Final = GroupVersion("authentication.k8s.io", "v1")
AUTHORIZATION: Final = GroupVersion("authorization.k8s.io", "v1")
ADMISSION: Final = GroupVersion("admissionregistration.k8s.io", "v1")
EXTENSIONS: Final = GroupVersion("apiextensions.k8s.io", "v1")
REGISTRATION: Final = GroupVersion("apiregistration.k8s.io", "v1")
SCHEDULING: Final = GroupVersion("scheduling.k8s.io", "v1")
COORDINATION: Final = GroupVersion("coordination.k8s.io", "v1")
EVENTS: Final = GroupVersion("events.k8s.io", "v1")
DISCOVERY: Final = GroupVersion("discovery.k8s.io", "v1")

_STATUS: Final = Subresource("status", _PART)
_SCALE: Final = Subresource("scale", _PART, "Scale", OLD_AUTOSCALING)
_POD_PARTS: Final = (
    Subresource("binding", _CREATE, "Binding", CORE),
    Subresource("eviction", _CREATE, "Eviction", POLICY),
    _STATUS,
)
_TOKEN: Final = Subresource("token", _CREATE, "TokenRequest", AUTHENTICATION)
_FINALIZE: Final = Subresource("finalize", ("update",))
_NAMESPACE_VERBS: Final = tuple(verb for verb in STANDARD if verb != "deletecollection")
_ALL: Final = ("all",)
_EXTENDED: Final = ("api-extensions",)

BUILTINS: Final = (
    Builtin(CORE, "Binding", "bindings", "V1Binding", verbs=_CREATE),
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
        categories=_ALL,
        subresources=_POD_PARTS,
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
        categories=_ALL,
        subresources=(_STATUS,),
    ),
    Builtin(
        ADMISSION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "V1MutatingWebhookConfiguration",
        namespaced=False,
        categories=_EXTENDED,
        generation=True,
    ),
    Builtin(
        ADMISSION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "V1ValidatingWebhookConfiguration",
        namespaced=False,
        categories=_EXTENDED,
        generation=True,
    ),
    Builtin(
        EXTENSIONS,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "V1CustomResourceDefinition",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=_EXTENDED,
        subresources=(_STATUS,),
        generation=True,
    ),
    Builtin(
        REGISTRATION,
        "APIService",
        "apiservices",
        "V1APIService",
        namespaced=False,
        categories=_EXTENDED,
        subresources=(_STATUS,),
    ),
    Builtin(APPS, "ControllerRevision", "controllerrevisions", "V1ControllerRevision"),
    Builtin(
        APPS,
        "Deployment",
        "deployments",
        "V1Deployment",
        short_names=("deploy",),
        categories=_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        APPS,
        "ReplicaSet",
        "replicasets",
        "V1ReplicaSet",
        short_names=("rs",),
        categories=_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        APPS,
        "StatefulSet",
        "statefulsets",
        "V1StatefulSet",
        short_names=("sts",),
        categories=_ALL,
        subresources=(_SCALE, _STATUS),
        generation=True,
    ),
    Builtin(
        AUTHENTICATION,
        "SelfSubjectReview",
        "selfsubjectreviews",
        "V1SelfSubjectReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Builtin(
        AUTHENTICATION,
        "TokenReview",
        "tokenreviews",
        "V1TokenReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Builtin(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        "V1LocalSubjectAccessReview",
        verbs=_CREATE,
    ),
    Builtin(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "V1SelfSubjectAccessReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Builtin(
        AUTHORIZATION,
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "V1SelfSubjectRulesReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Builtin(
        AUTHORIZATION,
        "SubjectAccessReview",
        "subjectaccessreviews",
        "V1SubjectAccessReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Builtin(
        AUTOSCALING,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "V2HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=_ALL,
        subresources=(_STATUS,),
    ),
    Builtin(
        OLD_AUTOSCALING,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "V1HorizontalPodAutoscaler",
        short_names=("hpa",),
        categories=_ALL,
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

#: Kinds that are only sent to a subresource.
BODIES: Final = {
    "Eviction": Builtin(POLICY, "Eviction", "evictions", "V1Eviction", verbs=_CREATE),
    "TokenRequest": Builtin(
        AUTHENTICATION,
        "TokenRequest",
        "tokenrequests",
        "AuthenticationV1TokenRequest",
        verbs=_CREATE,
    ),
    "Binding": BUILTINS[0],
}

#: Kinds that occur only as the body of a subresource or as options.
BODY_MODELS: Final = {
    "Eviction": "V1Eviction",
    "Scale": "V1Scale",
    "TokenRequest": "AuthenticationV1TokenRequest",
    "DeleteOptions": "V1DeleteOptions",
    "Status": "V1Status",
}
