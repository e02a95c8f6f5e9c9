"""Ask a cluster who serves what, so that nothing is installed over somebody else's."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.api.meta import Draft, Raw
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Request, Selection

GARDENER: Final = "v1beta1.core.gardener.cloud"
_RULES: Final = "prometheusrules.monitoring.coreos.com"


@dataclass(frozen=True, slots=True)
class Landscape:
    """What a cluster already has."""

    aggregated: frozenset[str]
    """Names of APIServices that a service answers for, such as `v1beta1.core.gardener.cloud`."""
    definitions: Mapping[str, Raw]
    """CustomResourceDefinitions by name."""

    @property
    def has_gardener(self) -> bool:
        """Whether a Gardener is there, reachable or not: unreachable never means absent."""
        return GARDENER in self.aggregated

    @property
    def has_prometheus(self) -> bool:
        return _RULES in self.definitions

    def is_ours(self, kind: Kind) -> bool:
        """Tell whether the kind's definition is there and was made by us."""
        definition = self.definitions.get(kind.resource)
        if definition is None:
            return False
        labels = definition["metadata"].get("labels") or {}
        return bool(labels.get(names.MANAGED_BY) == names.FIELD_MANAGER)

    def is_claimed(self, kind: Kind) -> bool:
        """Tell whether somebody else serves the kind's version, or defined the kind."""
        if f"{kind.version}.{kind.group}" in self.aggregated:
            return True
        return kind.resource in self.definitions and not self.is_ours(kind)

    def to_define(self, *, beside_gardener: bool) -> Iterator[Kind]:
        """List the kinds that the installation has to define here."""
        for kind in definable(beside_gardener=beside_gardener):
            if not self.is_claimed(kind):
                yield kind

    def covered(self) -> Iterator[Kind]:
        """List kinds of ours of which an aggregated API took over a version, or all."""
        for kind in definable(beside_gardener=False):
            if self.is_ours(kind) and self.lost_versions(kind):
                yield kind

    def displaced(self) -> Iterator[Kind]:
        """List kinds of ours that are no longer served in the version that we read."""
        return (kind for kind in self.covered() if kind.version in self.lost_versions(kind))

    def lost_versions(self, kind: Kind) -> list[str]:
        """List the versions of a definition that are claimed: they are never served from it."""
        versions = served_versions(self.definitions[kind.resource])
        return [each for each in versions if f"{each}.{kind.group}" in self.aggregated]


@dataclass(frozen=True, slots=True)
class Served:
    """What an API server says itself that it serves."""

    resources: Mapping[str, frozenset[str]]
    """Plurals by group and version."""
    unasked: Mapping[str, str]
    """By group and version, why it could not be asked."""

    def has(self, kind: Kind) -> bool:
        """Tell whether a kind is served in exactly its version."""
        return kind.plural in self.resources.get(kind.group_version, frozenset())


def served_versions(definition: Raw) -> list[str]:
    """List the versions that a definition asks to be served."""
    versions = definition.get("spec", {}).get("versions") or ()
    return [version["name"] for version in versions if version.get("served")]


async def ask(client: Client) -> Landscape:
    """Read what the cluster has."""
    return Landscape(await ask_services(client), await ask_definitions(client))


async def ask_services(client: Client) -> frozenset[str]:
    """Read the names of APIServices that a service answers for."""
    services = await read_all(client, Selection(kind_of_model(APIService)))
    return frozenset(
        service["metadata"]["name"]
        for service in services
        if (service.get("spec") or {}).get("service")
    )


async def ask_definitions(client: Client) -> Mapping[str, Raw]:
    """Read the definitions of all kinds, by name."""
    found = await read_all(client, Selection(kind_of_model(CustomResourceDefinition)))
    return {definition["metadata"]["name"]: definition for definition in found}


async def discover(client: Client, seconds: float = 5.0) -> Served:
    """Ask group by group which of our kinds are served; one that does not answer stops nobody."""
    resources: dict[str, frozenset[str]] = {}
    unasked: dict[str, str] = {}

    async def learn(group_version: str) -> None:
        try:
            told = await client.document(Request("GET", f"/apis/{group_version}"), seconds)
        except NotFoundError:
            return
        except ApiError as error:
            unasked[group_version] = str(error)
        else:
            resources[group_version] = frozenset(each["name"] for each in told["resources"])

    wanted = (kind.group_version for kind in KINDS if kind.origin != "kubernetes")
    async with asyncio.TaskGroup() as tasks:
        for group_version in dict.fromkeys(wanted):
            tasks.create_task(learn(group_version))
    return Served(resources, dict(sorted(unasked.items())))


async def read_all(client: Client, selection: Selection) -> list[Draft]:
    """Read all objects that are selected, page by page."""
    found: list[Draft] = []
    token = ""
    while True:
        page = await client.page(selection, token)
        found += [msgspec.json.decode(item, type=dict[str, Any]) for item in page.items]
        token = page.token
        if not token:
            return found
