"""KINDS: every kind that is served, watched or written, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

from webhook.api import (
    cloudprofiles,
    columns,
    core,
    managedseeds,
    projects,
    seeds,
    shoots,
)
from webhook.api.columns import Column
from webhook.api.meta import Object

Origin: TypeAlias = Literal[
    "espalier",
    "gardener",
    "extension",
    "machine",
    "druid",
    "dns",
    "tortoise",
    "kubernetes",
]
"""Who defines a kind; only Kubernetes' own need no CustomResourceDefinition anywhere."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps the numbers behind its scale subresource."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of object: what it is called, where it is served, how it is kept in memory."""

    group: str
    version: str
    name: str
    plural: str
    model: type[Object]
    origin: Origin
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    stored: Literal["whole", "read"] = "whole"
    """`read` keeps the Struct only, so such a kind is patched and never put from the cache."""
    status: bool = True
    scale: Scale | None = None
    columns: tuple[Column, ...] = (columns.AGE,)
    also_served: tuple[str, ...] = ()
    """Further versions with the same schema, served only where no Gardener is."""
    preserve_unknown: bool = True
    """Upstream has more fields than the Struct; they pass the schema and are kept."""

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def api_version(self) -> str:
        return self.group_version

    @property
    def resource(self) -> str:
        """The name of the CustomResourceDefinition, `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_name(self) -> str:
        return f"{self.name}List"


_core = partial(
    Kind,
    group="core.gardener.cloud",
    version="v1beta1",
    origin="gardener",
    categories=("gardener",),
)
_seedmanagement = partial(
    Kind,
    group="seedmanagement.gardener.cloud",
    version="v1alpha1",
    origin="gardener",
    categories=("gardener",),
)
_ours = partial(
    Kind,
    group="seedmanagement.gardener.cloud",
    version="v1beta1",
    also_served=("v1alpha1",),
    origin="espalier",
    categories=("gardener",),
    preserve_unknown=False,
)
_kubernetes = partial(Kind, origin="kubernetes")

KINDS: Final[tuple[Kind, ...]] = (
    _core(
        name="CloudProfile",
        plural="cloudprofiles",
        model=cloudprofiles.CloudProfile,
        namespaced=False,
        short_names=("cprofile", "cpfl"),
        columns=columns.CLOUD_PROFILE,
        stored="read",
    ),
    _core(
        name="NamespacedCloudProfile",
        plural="namespacedcloudprofiles",
        model=cloudprofiles.NamespacedCloudProfile,
        short_names=("nscpfl",),
        columns=columns.NAMESPACED_CLOUD_PROFILE,
        stored="read",
    ),
    _core(
        name="Project",
        plural="projects",
        model=projects.Project,
        namespaced=False,
        columns=columns.PROJECT,
    ),
    _core(name="Seed", plural="seeds", model=seeds.Seed, namespaced=False, columns=columns.SEED),
    _core(
        name="Quota",
        plural="quotas",
        model=projects.Quota,
        short_names=("squota",),
        status=False,
        columns=columns.QUOTA,
    ),
    _core(
        name="SecretBinding",
        plural="secretbindings",
        model=projects.SecretBinding,
        short_names=("sb",),
        status=False,
        columns=columns.SECRET_BINDING,
    ),
    _core(
        name="ExposureClass",
        plural="exposureclasses",
        model=projects.ExposureClass,
        namespaced=False,
        short_names=("expclass", "expcls"),
        status=False,
        columns=columns.EXPOSURE_CLASS,
    ),
    _core(name="Shoot", plural="shoots", model=shoots.Shoot, stored="read", columns=columns.SHOOT),
    Kind(
        group="security.gardener.cloud",
        version="v1alpha1",
        name="CredentialsBinding",
        plural="credentialsbindings",
        model=projects.CredentialsBinding,
        origin="gardener",
        short_names=("cb",),
        categories=("gardener",),
        status=False,
        columns=columns.CREDENTIALS_BINDING,
    ),
    _seedmanagement(
        name="ManagedSeed",
        plural="managedseeds",
        model=managedseeds.ManagedSeed,
        short_names=("ms",),
        columns=columns.MANAGED_SEED,
    ),
    _seedmanagement(
        name="ManagedSeedSet",
        plural="managedseedsets",
        model=managedseeds.ManagedSeedSet,
        short_names=("mss",),
        scale=Scale(selector=".status.selector"),
        columns=columns.MANAGED_SEED_SET,
    ),
    _ours(
        name="SeedAutoscaler",
        plural="seedautoscalers",
        model=managedseeds.SeedAutoscaler,
        short_names=("sa8r",),
        columns=columns.SEED_AUTOSCALER,
    ),
    _ours(
        name="Zone",
        plural="zones",
        model=seeds.Zone,
        namespaced=False,
        columns=columns.ZONE,
    ),
    _kubernetes(
        group="",
        version="v1",
        name="Namespace",
        plural="namespaces",
        model=core.Namespace,
        namespaced=False,
        short_names=("ns",),
    ),
    _kubernetes(
        group="",
        version="v1",
        name="ConfigMap",
        plural="configmaps",
        model=core.ConfigMap,
        short_names=("cm",),
        status=False,
    ),
    _kubernetes(
        group="",
        version="v1",
        name="Secret",
        plural="secrets",
        model=core.Secret,
        status=False,
    ),
    _kubernetes(
        group="",
        version="v1",
        name="Event",
        plural="events",
        model=core.Event,
        status=False,
        short_names=("ev",),
    ),
    _kubernetes(
        group="",
        version="v1",
        name="Pod",
        plural="pods",
        model=core.Pod,
        stored="read",
        short_names=("po",),
    ),
    _kubernetes(
        group="",
        version="v1",
        name="Node",
        plural="nodes",
        model=core.Node,
        stored="read",
        namespaced=False,
        short_names=("no",),
    ),
    _kubernetes(
        group="",
        version="v1",
        name="ServiceAccount",
        plural="serviceaccounts",
        model=core.ServiceAccount,
        status=False,
        short_names=("sa",),
    ),
    _kubernetes(
        group="coordination.k8s.io",
        version="v1",
        name="Lease",
        plural="leases",
        model=core.Lease,
        status=False,
    ),
    _kubernetes(
        group="apps",
        version="v1",
        name="Deployment",
        plural="deployments",
        model=core.Deployment,
        stored="read",
        short_names=("deploy",),
    ),
    _kubernetes(
        group="apps",
        version="v1",
        name="ControllerRevision",
        plural="controllerrevisions",
        model=core.ControllerRevision,
        status=False,
    ),
    _kubernetes(
        group="autoscaling",
        version="v2",
        name="HorizontalPodAutoscaler",
        plural="horizontalpodautoscalers",
        model=core.HorizontalPodAutoscaler,
        short_names=("hpa",),
    ),
    _kubernetes(
        group="apiextensions.k8s.io",
        version="v1",
        name="CustomResourceDefinition",
        plural="customresourcedefinitions",
        model=core.CustomResourceDefinition,
        namespaced=False,
        stored="read",
        short_names=("crd", "crds"),
    ),
    _kubernetes(
        group="apiregistration.k8s.io",
        version="v1",
        name="APIService",
        plural="apiservices",
        model=core.APIService,
        namespaced=False,
        stored="read",
    ),
    _kubernetes(
        group="admissionregistration.k8s.io",
        version="v1",
        name="MutatingWebhookConfiguration",
        plural="mutatingwebhookconfigurations",
        model=core.MutatingWebhookConfiguration,
        namespaced=False,
        status=False,
    ),
    _kubernetes(
        group="admissionregistration.k8s.io",
        version="v1",
        name="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations",
        model=core.ValidatingWebhookConfiguration,
        namespaced=False,
        status=False,
    ),
)

_BY_MODEL: Final[Mapping[type[Object], Kind]] = {kind.model: kind for kind in KINDS}
_BY_NAME: Final[Mapping[tuple[str, str, str], Kind]] = {
    (kind.group, version, kind.name): kind
    for kind in KINDS
    for version in (kind.version, *kind.also_served)
}
_BY_RESOURCE: Final[Mapping[tuple[str, str, str], Kind]] = {
    (kind.group, version, kind.plural): kind
    for kind in KINDS
    for version in (kind.version, *kind.also_served)
}


def kind_of_model(model: type[Object]) -> Kind:
    """Return the kind whose objects decode to this Struct."""
    return _BY_MODEL[model]


def find_kind(api_version: str, name: str) -> Kind | None:
    """Return the kind of exactly that version, further served versions included."""
    group, _, version = api_version.rpartition("/")
    return _BY_NAME.get((group, version, name))


def find_resource(group: str, version: str, plural: str) -> Kind | None:
    """Return the kind behind a resource of exactly that version."""
    return _BY_RESOURCE.get((group, version, plural))
