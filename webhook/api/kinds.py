"""KINDS: the table of all kinds that are defined, watched or written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.columns import AGE, COLUMNS, PrinterColumn
from webhook.api.core import (
    APIService,
    ConfigMap,
    ControllerRevision,
    CustomResourceDefinition,
    Deployment,
    Event,
    HorizontalPodAutoscaler,
    Lease,
    MutatingWebhookConfiguration,
    Namespace,
    Node,
    Pod,
    Secret,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from webhook.api.extensions import (
    BackupInfrastructure,
    Cluster,
    Generic,
    Infrastructure,
    MachineCloudConfig,
    Worker,
    WorkerPool,
)
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.projects import (
    CredentialsBinding,
    ExposureClass,
    Project,
    Quota,
    SecretBinding,
    WorkloadIdentity,
)
from webhook.api.registrations import (
    ControllerInstallation,
    ControllerRegistration,
    DNSEntry,
    DNSProvider,
    Etcd,
    GardenBackupInfrastructure,
    ShootState,
)
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.kube.meta import Object

Origin: TypeAlias = Literal[
    "espalier",
    "gardener",
    "garden",
    "extension",
    "machine",
    "druid",
    "dns",
    "tortoise",
    "kubernetes",
]
"""The project that defines a kind.

Kubernetes' own kinds never need a CustomResourceDefinition. Those of `garden` exist only with a
Gardener: rules read them where they are served, and in the files of `espalier check`.
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """The JSON paths behind a kind's scale subresource."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its names, its group and versions, its Struct, and how the cache stores it."""

    group: str
    version: str
    name: str
    plural: str
    model: type[Object]
    origin: Origin
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    stored: Literal["whole", "read", "exact"] = "whole"
    """What the cache stores: `whole` the JSON beside the Struct, `exact` also its managedFields,
    `read` the Struct only; objects of the last can be patched from the cache but not updated."""
    status: bool = True
    scale: Scale | None = None
    columns: tuple[PrinterColumn, ...] = (AGE,)
    also_served: tuple[str, ...] = ()
    """Further versions with the same schema, defined only without a Gardener."""
    preserve_unknown: bool = True
    """Whether the schema preserves fields that the Struct does not have, as upstream has more. Our
    own kinds prune them, so that a typing error is noticed."""
    selectable: tuple[str, ...] = ()
    """Fields besides name and namespace that field selectors may use."""

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name of the CustomResourceDefinition, `plural.group`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_name(self) -> str:
        return f"{self.name}List"


def _family(group: str, version: str, origin: Origin, **common: Any) -> Callable[..., Kind]:
    """Return a function that builds the rows of one group, with defaults from the Struct."""

    def row(model: type[Object], **special: Any) -> Kind:
        options = {"name": model.__name__, **common, **special}
        options.setdefault("plural", f"{options['name'].lower()}s")
        options.setdefault("columns", COLUMNS.get(options["name"], (AGE,)))
        return Kind(group=group, version=version, origin=origin, model=model, **options)

    return row


_gardener = partial(_family, origin="gardener", categories=("gardener",))
_core = _gardener("core.gardener.cloud", "v1beta1")
_security = _gardener("security.gardener.cloud", "v1alpha1")
_identities = _family("security.gardener.cloud", "v1alpha1", "garden")
_seeds = _gardener("seedmanagement.gardener.cloud", "v1alpha1")
_ours = _family(
    "seedmanagement.gardener.cloud",
    "v1beta1",
    "espalier",
    also_served=("v1alpha1",),
    categories=("gardener",),
    preserve_unknown=False,
)
_extension = _family("extensions.gardener.cloud", "v1alpha1", "extension")
_dns = _family("dns.gardener.cloud", "v1alpha1", "dns")
_machine = _family("machine.sapcloud.io", "v1alpha1", "machine")
_druid = _family("druid.gardener.cloud", "v1alpha1", "druid")
_scheduled = _family("autoscaling.mercari.com", "v1alpha1", "espalier", preserve_unknown=False)
_tortoise = _family("autoscaling.mercari.com", "v1beta3", "tortoise")
_kubernetes = partial(_family, origin="kubernetes")
_v1 = _kubernetes("", "v1")
_apps = _kubernetes("apps", "v1")
_admission = _kubernetes("admissionregistration.k8s.io", "v1", namespaced=False, status=False)

# fmt: off
KINDS: Final[tuple[Kind, ...]] = (
    _core(CloudProfile, namespaced=False, short_names=("cprofile", "cpfl"), stored="read"),
    _core(NamespacedCloudProfile, short_names=("nsprofile", "nscpfl"), stored="read"),
    _core(Project, namespaced=False),
    _core(Seed, namespaced=False),
    _core(Quota, short_names=("squota",), status=False),
    _core(SecretBinding, short_names=("sb",), status=False),
    _core(ExposureClass, plural="exposureclasses", namespaced=False, status=False,
          short_names=("expclass", "expcls")),
    _core(Shoot, stored="read", selectable=(".spec.seedName", ".status.seedName")),
    _core(ShootState, status=False),
    _core(ControllerRegistration, namespaced=False, short_names=("ctrlreg",), status=False),
    _core(ControllerInstallation, namespaced=False, short_names=("ctrlinst",),
          selectable=(".spec.registrationRef.name", ".spec.seedRef.name")),
    _core(GardenBackupInfrastructure, name="BackupInfrastructure",
          plural="backupinfrastructures", columns=(PrinterColumn("Seed", ".spec.seed"), AGE)),
    # Not in the documents, and neither are Worker and Cluster: shoots, quotas and node groups refer
    # to them today.
    _security(CredentialsBinding, short_names=("cb",), status=False),
    _identities(WorkloadIdentity, plural="workloadidentities"),
    _seeds(ManagedSeed, short_names=("ms",), selectable=(".spec.shoot.name",)),
    _seeds(ManagedSeedSet, short_names=("mss",), scale=Scale(selector=".status.selector")),
    _ours(SeedAutoscaler, short_names=("sas",)),
    _ours(Zone, namespaced=False),
    _extension(Infrastructure, short_names=("infra",)),
    _extension(BackupInfrastructure),
    _extension(MachineCloudConfig),
    _extension(WorkerPool),
    _extension(Generic),
    _extension(Worker),
    _extension(Cluster, namespaced=False, status=False, stored="read"),
    _dns(DNSProvider, short_names=("dnspr",)),
    _dns(DNSEntry, plural="dnsentries", short_names=("dnse",)),
    _machine(MachineDeployment, short_names=("mcd",), scale=Scale()),
    _machine(MachineSet, short_names=("mcs",), scale=Scale()),
    _machine(Machine, short_names=("mc",)),
    _machine(MachineClass, plural="machineclasses", short_names=("mcc",), status=False),
    _druid(Etcd),
    _scheduled(ScheduledScaling, short_names=("ss",)),
    _tortoise(Tortoise),
    _v1(Namespace, namespaced=False, short_names=("ns",)),
    _v1(ConfigMap, short_names=("cm",), status=False),
    _v1(Secret, status=False),
    _v1(Event, short_names=("ev",), status=False),
    _v1(Pod, short_names=("po",), stored="read"),
    _v1(Node, namespaced=False, short_names=("no",), stored="read"),
    _v1(ServiceAccount, short_names=("sa",), status=False),
    _kubernetes("coordination.k8s.io", "v1")(Lease, status=False),
    _apps(Deployment, short_names=("deploy",), stored="read", scale=Scale()),
    _apps(ControllerRevision, status=False),
    _kubernetes("autoscaling", "v2")(HorizontalPodAutoscaler, short_names=("hpa",)),
    _kubernetes("apiextensions.k8s.io", "v1")(
        CustomResourceDefinition, namespaced=False, short_names=("crd", "crds"), stored="read"),
    _kubernetes("apiregistration.k8s.io", "v1")(APIService, namespaced=False, stored="read"),
    _admission(MutatingWebhookConfiguration),
    _admission(ValidatingWebhookConfiguration),
)
# fmt: on

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
    """Return the kind of a Struct."""
    return _BY_MODEL[model]


def find_kind(api_version: str, name: str) -> Kind | None:
    """Return the kind with that name in that version, further versions included."""
    group, _, version = api_version.rpartition("/")
    return _BY_NAME.get((group, version, name))


def find_resource(group: str, version: str, plural: str) -> Kind | None:
    """Return the kind of a resource in that version, further versions included."""
    return _BY_RESOURCE.get((group, version, plural))
