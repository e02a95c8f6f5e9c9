"""The NetworkPolicy of the pods: who may reach their ports, and what they may reach."""

import ipaddress
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from webhook.api import names
from webhook.cli.install.layout import (
    GROUPS_PORT,
    NAME,
    PLAIN_PORT,
    SERVING_PORT,
    Layout,
    metadata,
    selector,
)
from webhook.kube.meta import Draft

_KUBE_SCHEDULER: Final = "espalier-kube-scheduler"
"""The name of the kube-scheduler in `manifests/kube-scheduler`."""


def network_policy(layout: Layout) -> Draft:
    """Generate the NetworkPolicy: ingress to our ports, egress to DNS and API servers."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "podSelector": {"matchLabels": selector()},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": list(_ingress(layout)),
            "egress": [
                # The port behind the Service counts; Gardener's CoreDNS listens on 8053.
                {"ports": [*_ports("UDP", 53, 8053), *_ports("TCP", 53, 8053)]},
                {"ports": _ports("TCP", 443, 6443)},
                *_prometheus(layout),
            ],
        },
    }


def _ingress(layout: Layout) -> Iterator[Draft]:
    serving = _ports("TCP", SERVING_PORT)
    if layout.api_servers:
        # API servers are no pods that can be selected; the kube-scheduler of our manifests is one.
        scheduler = {"matchLabels": {names.APP_NAME: _KUBE_SCHEDULER}}
        sources = [{"ipBlock": {"cidr": block}} for block in layout.api_servers]
        yield {"from": [*sources, {"podSelector": scheduler}], "ports": serving}
    else:
        # A guess that leaves an API server out would close the cluster, so every source may call.
        yield {"ports": serving}
    yield {"ports": _ports("TCP", PLAIN_PORT, GROUPS_PORT)}


def _prometheus(layout: Layout) -> Iterator[Draft]:
    """Allow egress to the Prometheus of the settings.

    The port behind a Service may be another one than in the address, so all ports of the Service's
    namespace are allowed.
    """
    if not layout.options.seeds.prometheus:
        return
    address = urlsplit(layout.options.seeds.prometheus)
    yield {"ports": _ports("TCP", address.port or (443 if address.scheme == "https" else 80))}
    namespace = _service_namespace(address.hostname or "", layout.namespace)
    if namespace:
        selected = {"matchLabels": {names.NAMESPACE_NAME: namespace}}
        yield {"to": [{"namespaceSelector": selected}]}


def _service_namespace(host: str, namespace: str) -> str:
    """Return the namespace of the Service that a host may name; empty if it names none."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        name, *domain = host.split(".")
    else:
        return ""
    if not domain:
        return namespace if name else ""
    is_service = len(domain) == 1 or domain[1] == "svc"
    return domain[0] if is_service else ""


def _ports(protocol: str, *numbers: int) -> list[Draft]:
    return [{"protocol": protocol, "port": number} for number in numbers]
