"""Which APIs a cluster serves, so that an installation does not replace those of others."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable, foreign_manager
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import ApiRequest, Selection
from webhook.kube.meta import Raw

GARDENER_API: Final = "v1beta1.core.gardener.cloud"
_PROMETHEUS_RULES: Final = "prometheusrules.monitoring.coreos.com"


@dataclass(frozen=True, slots=True)
class InstalledApis:
    """The APIServices and CustomResourceDefinitions of a cluster."""

    aggregated: frozenset[str]
    """Names of APIServices that a Service backs, such as `v1beta1.core.gardener.cloud`."""
    definitions: Mapping[str, Raw]
    """CustomResourceDefinitions by name."""

    @property
    def has_gardener(self) -> bool:
        """Whether a Gardener is installed, reachable or not."""
        return GARDENER_API in self.aggregated

    @property
    def has_prometheus(self) -> bool:
        return _PROMETHEUS_RULES in self.definitions

    def is_ours(self, kind: Kind) -> bool:
        """Return whether the kind has a definition that Espalier installed."""
        definition = self.definitions.get(kind.resource)
        if definition is None:
            return False
        return not foreign_manager(definition)

    def is_claimed(self, kind: Kind) -> bool:
        """Return whether others serve or manage the kind."""
        return bool(self.claimant(kind))

    def claimant(self, kind: Kind) -> str:
        """Return who else serves or manages a kind: an APIService, or managers of its definition.

        Empty if nobody does.
        """
        api_service = f"{kind.version}.{kind.group}"
        if api_service in self.aggregated:
            return f"APIService {api_service}"
        definition = self.definitions.get(kind.resource)
        return "" if definition is None else foreign_manager(definition)

    def to_define(self, *, beside_gardener: bool) -> Iterator[Kind]:
        """Yield the kinds that the installation has to define in this cluster."""
        for kind in definable(beside_gardener=beside_gardener):
            if not self.is_claimed(kind):
                yield kind

    def left_out(self, *, beside_gardener: bool) -> Iterator[tuple[Kind, str]]:
        """Yield the kinds that the installation leaves to others, and the owner of each."""
        for kind in definable(beside_gardener=beside_gardener):
            if claimant := self.claimant(kind):
                yield kind, claimant

    def with_claimed_versions(self) -> Iterator[Kind]:
        """Yield our kinds of which an aggregated API claims at least one version.

        The server does not start with one, even if it reads another version: kube-apiserver would
        keep rewriting the APIService of the claimed version. A running server goes on unless the
        kind is covered.
        """
        for kind in definable(beside_gardener=False):
            if self.is_ours(kind) and self.claimed_versions(kind):
                yield kind

    def covered(self) -> Iterator[Kind]:
        """Yield our kinds of which an aggregated API claims the version that we read."""
        for kind in self.with_claimed_versions():
            if kind.version in self.claimed_versions(kind):
                yield kind

    def claimed_versions(self, kind: Kind) -> list[str]:
        """Return the versions of a definition that an aggregated API serves instead."""
        versions = served_versions(self.definitions[kind.resource])
        return [each for each in versions if f"{each}.{kind.group}" in self.aggregated]


@dataclass(frozen=True, slots=True)
class DiscoveredApis:
    """The resources that an API server lists in its discovery documents."""

    resources: Mapping[str, frozenset[str]]
    """Plural names of resources by group and version."""
    unreachable: Mapping[str, str]
    """The error of each group and version that did not answer."""

    def has(self, kind: Kind) -> bool:
        """Return whether a kind is served in exactly its version."""
        return kind.plural in self.resources.get(kind.api_version, frozenset())


def served_versions(definition: Raw) -> list[str]:
    """Return the versions of a definition with `served: true`."""
    versions = definition.get("spec", {}).get("versions") or ()
    return [version["name"] for version in versions if version.get("served")]


async def read_installed_apis(client: Client) -> InstalledApis:
    """Read the aggregated APIs and the definitions of a cluster."""
    return InstalledApis(await list_aggregated_apis(client), await list_definitions(client))


async def list_aggregated_apis(client: Client) -> frozenset[str]:
    """Return the names of the APIServices that a Service backs."""
    services = await client.list(Selection(kind_of_model(APIService)))
    return frozenset(
        service["metadata"]["name"]
        for service in services
        if (service.get("spec") or {}).get("service")
    )


async def list_definitions(client: Client) -> Mapping[str, Raw]:
    """Return all CustomResourceDefinitions by name."""
    found = await client.list(Selection(kind_of_model(CustomResourceDefinition)))
    return {definition["metadata"]["name"]: definition for definition in found}


async def discover(client: Client, seconds: float = 5.0) -> DiscoveredApis:
    """Read the discovery documents of our groups; a group that does not answer is reported."""
    resources: dict[str, frozenset[str]] = {}
    unreachable: dict[str, str] = {}

    async def read_group(group_version: str) -> None:
        try:
            document = await client.document(ApiRequest("GET", f"/apis/{group_version}"), seconds)
        except NotFoundError:
            return
        except ApiError as error:
            unreachable[group_version] = str(error)
        else:
            resources[group_version] = frozenset(each["name"] for each in document["resources"])

    wanted = (kind.api_version for kind in KINDS if kind.origin != "kubernetes")
    async with asyncio.TaskGroup() as tasks:
        for group_version in dict.fromkeys(wanted):
            tasks.create_task(read_group(group_version))
    return DiscoveredApis(resources, dict(sorted(unreachable.items())))
