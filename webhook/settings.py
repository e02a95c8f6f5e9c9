"""The operator's settings: flags, then ESPALIER_* variables, then a YAML file, then defaults."""

import os
import socket
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from webhook.admission import webhook_configurations
from webhook.api import names
from webhook.domain.features import FEATURE_NAMES, Feature, closure
from webhook.domain.options import (
    AdmissionOptions,
    CapacityOptions,
    NodeGroupsOptions,
    Options,
    RolloutOptions,
    ScalingOptions,
    SchedulingOptions,
    SeedsOptions,
    UsageOptions,
)
from webhook.domain.pools import discovery
from webhook.runtime.leader_election import LeaseTiming
from webhook.scheduling import profiles
from webhook.server.app import Role
from webhook.server.bodies import DEFAULT_BYTES, MAX_BODY
from webhook.settingsfile import (
    PREFIX,
    SettingsError,
    SettingsFile,
    explain,
    parse_usage,
    restore_off,
)

Owned: TypeAlias = Literal["managedseed", "managedseedset"]
"""A controller of ours that replaces Gardener's."""

ROLES: Final[tuple[Role, ...]] = ("admission", "extender", "controllers")


class Settings(BaseSettings):
    """All settings of `espalier serve`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )

    reads_environment: ClassVar = True

    config: Path | None = None
    """YAML file with settings; keys are the names of flags in camelCase"""

    kubeconfig: str = ""
    """kubeconfig file; without it KUBECONFIG, then the service account, then ~/.kube/config"""
    context: str = ""
    """context of the kubeconfig; without it the current one"""
    namespace: str = "espalier-system"
    """namespace of our own objects: lease, certificates, ledgers"""
    garden_namespace: str = names.GARDEN_NAMESPACE
    """namespace of ManagedSeeds, ManagedSeedSets, region distances and the garden's Secrets"""
    identity: str = Field(default_factory=socket.gethostname)
    """name of this replica in the lease, in Events and in logs; without it the host name"""

    host: str = "0.0.0.0"
    """address to listen on with TLS"""
    port: int = Field(9443, ge=0, le=65535)
    """port to listen on with TLS; 0 lets the system choose"""
    http_host: str = "0.0.0.0"
    """address to listen on without TLS"""
    http_port: int = Field(8080, ge=0, le=65535)
    """port for /healthz, /readyz and /metrics; 0 lets the system choose"""
    roles: Annotated[tuple[Role, ...], NoDecode] = ROLES
    """what this process does, separated by commas: admission, extender, controllers, nodegroups"""
    features: Annotated[tuple[Feature, ...], NoDecode] = FEATURE_NAMES
    """the parts of Espalier to run, separated by commas; what they require is added"""
    own: Annotated[tuple[Owned, ...], NoDecode] = ()
    """beside a Gardener: controllers that replace Gardener's, separated by commas"""
    standalone: bool = False
    """whether to delete the marker of a Gardener that was uninstalled for good"""
    max_in_flight: int = Field(500, ge=1)
    """requests processed at the same time; more are refused with 503 and Retry-After"""
    max_body_bytes: int = Field(DEFAULT_BYTES, ge=MAX_BODY)
    """bytes of request bodies in memory at the same time, by default an eighth of the memory limit
    in the manifests; more are refused with 503 and Retry-After"""
    fast_path: bool = True
    """whether small reviews bypass the general HTTP handling; the verdicts are the same without"""
    drain_quiet: float = Field(10.0, ge=0)
    """when stopping: exit after so many seconds without a request"""
    drain_longest: float = Field(45.0, ge=0)
    """when stopping: exit after so many seconds in any case"""

    service_name: str = "espalier"
    """Service in our namespace through which API servers call the webhooks"""
    advertise_url: str = ""
    """https URL at which API servers reach this server, instead of the Service"""
    manage_webhooks: bool = True
    """whether the leader creates and updates the webhook configurations"""

    certificate_directory: Path | None = None
    """serve tls.crt and tls.key (and publish ca.crt) of this directory, such as a mounted Secret"""
    certificate_secret: str = "espalier-tls"  # noqa: S105 - a name
    """Secret in our namespace with our own CA and certificate, created if it does not exist"""
    certificate_names: Annotated[tuple[str, ...], NoDecode] = ()
    """further DNS names and addresses of our certificate, separated by commas"""
    certificate_days: float = Field(90.0, gt=0)
    """lifetime of our own certificates; they are renewed after two thirds of it"""
    authority_days: float = Field(3650.0, gt=0)
    """lifetime of our own CA; it is rotated after two thirds of it"""
    client_ca: Path | None = None
    """PEM file of a CA; its client certificates authenticate schedulers and callers of explain"""
    admission_client_ca: Path | None = None
    """PEM file of a CA; reviews then require one of its client certificates"""
    admission_client_names: Annotated[tuple[str, ...], NoDecode] = ()
    """common names that these certificates may have, separated by commas; without it any name"""

    lease_name: str = "espalier"
    """Lease in our namespace that replicas with the role controllers compete for"""
    lease_duration: int = Field(15, ge=1)
    """seconds after which a leader that does not renew its lease is replaced"""
    renew_deadline: float = Field(10.0, gt=0)
    """seconds after which a leader that cannot renew its lease stops leading"""
    retry_period: float = Field(2.0, gt=0)
    """seconds between attempts to get or renew the lease"""

    nodegroups_port: int = Field(9444, ge=0, le=65535)
    """port for autoscalers, with mTLS, where the role nodegroups is on; 0 lets the system choose"""
    nodegroups_client_ca: Path | None = None
    """PEM file of the CA of autoscalers; without it our own CA"""
    nodegroups_insecure: str = ""
    """namespace that clients on loopback may read and scale without a certificate"""
    nodegroups_processes: int = Field(1, ge=1, le=64)
    """number of processes that serve autoscalers"""
    nodegroups_beside: int = Field(0, ge=0)
    """process id of the parent that shares its port for autoscalers; ends with it"""
    node_group_auto_discovery: Annotated[tuple[str, ...], NoDecode] = ()
    """mcm:KEY[=VALUE], repeatable; without it all objects with the label of a worker pool"""

    log_format: Literal["json", "text"] = "json"
    """format of log lines"""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """lowest level of log lines; denied reviews are info, allowed ones debug"""

    admission: AdmissionOptions = AdmissionOptions()
    """modes of policies; a section of the file"""
    scheduler: SchedulingOptions = SchedulingOptions()
    """scheduling of shoots; a section of the file"""
    usage: UsageOptions = UsageOptions()
    """resource usage of shoots by failure tolerance type; a section of the file"""
    capacity: CapacityOptions = CapacityOptions()
    """capacity of seeds for shoots; a section of the file"""
    scheduled_scaling: ScalingOptions = ScalingOptions()
    """effect and limits of scheduled scalings; a section of the file"""
    seeds: SeedsOptions = SeedsOptions()
    """managed seeds and sets of them; a section of the file"""
    nodegroups: NodeGroupsOptions = NodeGroupsOptions()
    """discovery and control of worker pools; a section of the file"""
    rollout: RolloutOptions = RolloutOptions()
    """rollouts of managed seed sets beside a Gardener; a section of the file"""

    @field_validator(
        "roles",
        "features",
        "own",
        "certificate_names",
        "admission_client_names",
        "node_group_auto_discovery",
        mode="before",
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("roles")
    @classmethod
    def _require_role(cls, value: tuple[Role, ...]) -> tuple[Role, ...]:
        if not value:
            raise ValueError(f"name at least one of {', '.join(ROLES)}")
        return value

    @field_validator("features")
    @classmethod
    def _require_feature(cls, value: tuple[Feature, ...]) -> tuple[Feature, ...]:
        if not value:
            raise ValueError(f"name at least one of {', '.join(FEATURE_NAMES)}")
        return value

    @field_validator("node_group_auto_discovery")
    @classmethod
    def _validate_discovery(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        discovery.discoveries(value)
        return value

    @field_validator("nodegroups")
    @classmethod
    def _validate_nodegroups(cls, value: NodeGroupsOptions) -> NodeGroupsOptions:
        discovery.discoveries(value.discovery)
        return value

    @field_validator("advertise_url")
    @classmethod
    def _validate_url(cls, value: str) -> str:
        return require_https_url(value)

    @field_validator("scheduler")
    @classmethod
    def _validate_scheduler(cls, value: SchedulingOptions) -> SchedulingOptions:
        profiles.check(value)
        return value

    @field_validator("admission", mode="before")
    @classmethod
    def _restore_off(cls, value: Any) -> Any:
        """Accept a bare `off`, which YAML parses as a boolean."""
        return restore_off(value) if isinstance(value, Mapping) else value

    @field_validator("admission")
    @classmethod
    def _validate_policies(cls, value: AdmissionOptions) -> AdmissionOptions:
        webhook_configurations.check(value)
        return value

    @field_validator("usage", mode="before")
    @classmethod
    def _parse_usage(cls, value: Any) -> Any:
        return parse_usage(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _validate_timing(self) -> "Settings":
        self.timing  # noqa: B018 - raises if leaders could overlap
        if "nodegroups" in self.roles and "node-groups" not in self.features:
            raise ValueError("the role nodegroups needs the feature node-groups, add it")
        return self

    @model_validator(mode="after")
    def _validate_admission_clients(self) -> "Settings":
        if self.admission_client_names and self.admission_client_ca is None:
            raise ValueError("admissionClientNames needs admissionClientCa: set both, or neither")
        return self

    @property
    def timing(self) -> LeaseTiming:
        """The timing of the leader election."""
        return LeaseTiming(self.lease_duration, self.renew_deadline, self.retry_period)

    @property
    def active_roles(self) -> tuple[Role, ...]:
        """The roles without those for features that are not in use."""
        places = "placement" in closure(self.features)
        return tuple(role for role in self.roles if places or role != "extender")

    def options(self) -> Options:
        """Return the part of the settings that decisions use."""
        known = type(self).model_fields
        given = {
            each.name: getattr(self, each.name) for each in fields(Options) if each.name in known
        }
        given["features"] = closure(self.features)
        given["scheduling"] = self.scheduler
        given["scaling"] = self.scheduled_scaling
        specs = self.node_group_auto_discovery or self.nodegroups.discovery
        given["nodegroups"] = replace(self.nodegroups, discovery=specs)
        given["seeds"] = replace(
            self.seeds,
            owns_managed_seeds="managedseed" in self.own,
            owns_managed_seed_sets="managedseedset" in self.own,
        )
        return Options(**given)

    @override
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        path = init_settings().get("config") or os.environ.get(f"{PREFIX}CONFIG")
        file = SettingsFile(settings_cls, str(path) if path else "")
        return (init_settings, *([env_settings] if cls.reads_environment else ()), file)


SECTIONS: Final = tuple(
    name for name, field in Settings.model_fields.items() if is_dataclass(field.annotation)
)
"""The settings that are sections of the file and have no flag."""


def require_https_url(value: str) -> str:
    """Return an https URL without a trailing slash, or an empty string; raises ValueError."""
    parts = urlsplit(value)
    if value and (parts.scheme != "https" or not parts.hostname or parts.query):
        raise ValueError("write it like https://host:port, API servers call https only")
    return value.rstrip("/")


class _FileSettings(Settings):
    """The settings of a file alone."""

    reads_environment: ClassVar = False


def load(flags: Mapping[str, str]) -> Settings:
    """Load the settings; raises SettingsError with a line for each invalid one."""
    return _load(Settings, flags)


def load_file(path: str) -> Settings:
    """Load the settings of a file only; raises SettingsError with a line for each invalid one."""
    return _load(_FileSettings, {"config": path})


def _load(settings: type[Settings], flags: Mapping[str, str]) -> Settings:
    values: dict[str, Any] = {**flags}
    try:
        return settings(**values)
    except ValidationError as error:
        lines = (explain(each, Settings.model_fields, SECTIONS) for each in error.errors())
        raise SettingsError("\n".join(lines)) from error
