"""Ask a cluster who serves what, so that nothing is installed over somebody else's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, Raw
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection

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

    def to_define(self) -> Iterator[Kind]:
        """List the kinds that the installation has to define here."""
        for kind in definable(beside_gardener=self.has_gardener):
            if not self.is_claimed(kind):
                yield kind

    def covered(self) -> Iterator[Kind]:
        """List kinds of ours that an aggregated API took over: they are no longer served."""
        for kind in definable(beside_gardener=False):
            if self.is_ours(kind) and f"{kind.version}.{kind.group}" in self.aggregated:
                yield kind


async def ask(client: Client) -> Landscape:
    """Read what the cluster has."""
    services = await read_all(client, Selection(kind_of_model(APIService)))
    definitions = await read_all(client, Selection(kind_of_model(CustomResourceDefinition)))
    return Landscape(
        frozenset(
            service["metadata"]["name"]
            for service in services
            if (service.get("spec") or {}).get("service")
        ),
        {definition["metadata"]["name"]: definition for definition in definitions},
    )


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
