"""The operator's settings: flags, then ESPALIER_* variables, then a YAML file, then defaults."""

import os
import socket
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from webhook.admission import configuration
from webhook.api import quantity
from webhook.domain import pools, usage
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
    UsageRule,
)
from webhook.runtime.leader import Timing
from webhook.scheduling import profiles
from webhook.server.app import Role
from webhook.settingsfile import SettingsError, SettingsFile, camel, snake, with_off

PREFIX: Final = "ESPALIER_"
ROLES: Final[tuple[Role, ...]] = ("admission", "extender", "controllers")

_DOMAINS: Final = frozenset({"none", "single_zone", "multi_zone"})


class Settings(BaseSettings):
    """Everything that `espalier serve` can be told."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )

    config: Path | None = None
    """YAML file with settings; keys are the names of flags in camelCase"""

    kubeconfig: str = ""
    """kubeconfig file; without it KUBECONFIG, then the pod's account, then ~/.kube/config"""
    context: str = ""
    """context of the kubeconfig; without it the current one"""
    namespace: str = "espalier-system"
    """namespace of our own objects: lease, certificates, ledgers"""
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
    own: Annotated[tuple[Literal["managedseed", "managedseedset"], ...], NoDecode] = ()
    """beside a Gardener: what we do instead of its controllers, separated by commas"""
    standalone: bool = False
    """whether to forget that a Gardener was seen here, because it left for good"""
    max_in_flight: int = Field(500, ge=1)
    """requests answered at the same time; more are turned away with 503 and Retry-After"""
    drain_quiet: float = Field(10.0, ge=0)
    """when stopping: leave after so many seconds without a request"""
    drain_longest: float = Field(45.0, ge=0)
    """when stopping: leave after so many seconds in any case"""

    service_name: str = "espalier"
    """Service in our namespace through which API servers call the webhooks"""
    advertise_url: str = ""
    """https URL at which API servers reach this server, instead of the Service"""
    manage_webhooks: bool = True
    """whether the leader creates and keeps the webhook configurations"""

    certificate_directory: Path | None = None
    """serve tls.crt and tls.key (and publish ca.crt) of this directory, such as a mounted Secret"""
    certificate_secret: str = "espalier-tls"  # noqa: S105 - a name
    """Secret in our namespace that holds our own authority and certificate, made if absent"""
    certificate_names: Annotated[tuple[str, ...], NoDecode] = ()
    """further DNS names and addresses of our certificate, separated by commas"""
    certificate_days: float = Field(90.0, gt=0)
    """life of a certificate that we make; it is renewed after two thirds"""
    authority_days: float = Field(3650.0, gt=0)
    """life of the authority that we make; it is succeeded after two thirds"""
    client_ca: Path | None = None
    """PEM file; who calls bind or explain with a certificate of it is known by its name"""
    admission_client_ca: Path | None = None
    """PEM file; reviews are then taken only with a client certificate of it"""

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
    """PEM file; autoscalers need a certificate of it, without the file one of our own authority"""
    nodegroups_insecure: str = ""
    """namespace that callers on loopback may see and scale without any certificate"""
    nodegroups_processes: int = Field(1, ge=1, le=64)
    """processes that autoscalers are spread over"""
    nodegroups_beside: int = Field(0, ge=0)
    """parent process whose port for autoscalers is shared; this process ends with it"""
    node_group_auto_discovery: Annotated[tuple[str, ...], NoDecode] = ()
    """mcm:KEY[=VALUE], repeatable; without it whatever carries a worker pool's label is found"""

    log_format: Literal["json", "text"] = "json"
    """how log lines look"""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """the least important log lines to write; refusals are info, permissions debug"""

    admission: AdmissionOptions = AdmissionOptions()
    """how strict policies are, for whom; as a section of the file"""
    scheduler: SchedulingOptions = SchedulingOptions()
    """how shoots get their seeds; as a section of the file"""
    usage: UsageOptions = UsageOptions()
    """what shoots use of resources, by failure domain; as a section of the file"""
    capacity: CapacityOptions = CapacityOptions()
    """how many shoots seeds take; as a section of the file"""
    scheduled_scaling: ScalingOptions = ScalingOptions()
    """what scheduled scalings may do; as a section of the file"""
    seeds: SeedsOptions = SeedsOptions()
    """how managed seeds and sets of them are looked after; as a section of the file"""
    nodegroups: NodeGroupsOptions = NodeGroupsOptions()
    """how worker pools are looked after; as a section of the file"""
    rollout: RolloutOptions = RolloutOptions()
    """how sets of seeds are rolled beside a Gardener; as a section of the file"""

    @field_validator(
        "roles", "own", "certificate_names", "node_group_auto_discovery", mode="before"
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("roles")
    @classmethod
    def _need_a_role(cls, value: tuple[Role, ...]) -> tuple[Role, ...]:
        if not value:
            raise ValueError(f"name at least one of {', '.join(ROLES)}")
        return value

    @field_validator("node_group_auto_discovery")
    @classmethod
    def _need_specs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        pools.discoveries(value)
        return value

    @field_validator("advertise_url")
    @classmethod
    def _need_https(cls, value: str) -> str:
        return callable_url(value)

    @field_validator("scheduler")
    @classmethod
    def _need_known_names(cls, value: SchedulingOptions) -> SchedulingOptions:
        profiles.check(value)
        return value

    @field_validator("admission", mode="before")
    @classmethod
    def _read_off(cls, value: Any) -> Any:
        """Read a bare `off` as it is meant: YAML takes it for a boolean."""
        return with_off(value) if isinstance(value, Mapping) else value

    @field_validator("admission")
    @classmethod
    def _need_known_policies(cls, value: AdmissionOptions) -> AdmissionOptions:
        configuration.check(value)
        return value

    @field_validator("usage", mode="before")
    @classmethod
    def _read_usage(cls, value: Any) -> Any:
        return _usage(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _need_safe_timing(self) -> "Settings":
        self.timing  # noqa: B018 - raises if leaders could overlap
        return self

    @property
    def timing(self) -> Timing:
        """The times of the leader election."""
        return Timing(self.lease_duration, self.renew_deadline, self.retry_period)

    def options(self) -> Options:
        """Give the part of the settings that decisions read."""
        ours = type(self).model_fields
        given = {
            each.name: getattr(self, each.name) for each in fields(Options) if each.name in ours
        }
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
        return init_settings, env_settings, SettingsFile(settings_cls, str(path) if path else "")


def _usage(written: Mapping[str, Any]) -> UsageOptions:
    """Read rules by resource; raises ValueError with what is wrong."""
    rules = []
    for resource, amounts in written.items():
        if resource in usage.BUILT_IN:
            raise ValueError(f"{resource} is counted by itself, leave it out")
        if not isinstance(amounts, Mapping) or not {snake(key) for key in amounts} <= _DOMAINS:
            raise ValueError(f"{resource}: write amounts for none, single-zone and multi-zone")
        parsed = {snake(key): quantity.parse(amount) for key, amount in amounts.items()}
        rules.append((str(resource), UsageRule(**parsed)))
    return UsageOptions(tuple(rules))


def callable_url(value: str) -> str:
    """Give a URL as API servers can call it, or nothing; raises ValueError for any other."""
    parts = urlsplit(value)
    if value and (parts.scheme != "https" or not parts.hostname or parts.query):
        raise ValueError("write it like https://host:port, API servers call https only")
    return value.rstrip("/")


def load(flags: Mapping[str, str]) -> Settings:
    """Put the settings together; raises SettingsError with a line for each that does not work."""
    values: dict[str, Any] = {**flags}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(fault) for fault in error.errors())) from error


def flag(name: str) -> str:
    """Spell a setting as a flag."""
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """Spell a setting as an environment variable."""
    return f"{PREFIX}{name.upper()}"


def _explain(fault: Any) -> str:
    path = [str(part) for part in fault["loc"]]
    message = str(fault["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if not path:
        return f"settings: {message}"
    name = path[0]
    if name not in Settings.model_fields:
        return f"{'.'.join(path)}: no such setting, run espalier serve --help for the list"
    where = f"set it by {flag(name)}, {variable(name)} or {camel(name)} in the file"
    return f"{'.'.join([camel(part) for part in path])}: {message}; {where}"
