"""Resolves the Services of webhooks, in a cluster without a network."""

from collections.abc import Mapping
from typing import Final

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.dev.apiserver.webhooks.client import Address
from webhook.kube.meta import Raw

_HTTPS: Final = 443


class ServiceResolver:
    """Resolves Services by the given addresses, external names and Endpoints."""

    def __init__(self, core: Core, known: Mapping[str, str]) -> None:
        self._reader = StoreReader(core)
        self._known = known
        """Given addresses: NAMESPACE/NAME to HOST:PORT."""

    def resolve(self, reference: Raw) -> Address:
        """Return the address to call; its certificate must be for the name of the Service."""
        name, namespace = reference["name"], reference["namespace"]
        port = int(reference.get("port") or _HTTPS)
        path = reference.get("path") or "/"
        url = f"https://{name}.{namespace}.svc:{port}{path}"
        known = self._known.get(f"{namespace}/{name}")
        if known is not None:
            host, _, number = known.rpartition(":")
            return Address(url, host, int(number))
        service = self._reader.get("services", namespace, name)
        if service is None:
            return Address(url, problem=f'service "{name}" not found')
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return Address(url, spec["externalName"], port)
        if not any(each.get("port") == port for each in spec.get("ports") or ()):
            return Address(url, problem=f'no service port {port} found for service "{name}"')
        found = self._endpoint(namespace, name)
        if found is None:
            return Address(url, problem=f'no endpoints available for service "{name}"')
        return Address(url, *found)

    def _endpoint(self, namespace: str, name: str) -> tuple[str, int] | None:
        endpoints = self._reader.get("endpoints", namespace, name) or {}
        for subset in endpoints.get("subsets") or ():
            for address in subset.get("addresses") or ():
                for port in subset.get("ports") or ():
                    return address["ip"], int(port["port"])
        return None
