"""Objections to Services, Endpoints and NetworkPolicies."""

import ipaddress
from typing import Any, Final

from webhook.api import fielderrors, identifiers
from webhook.apiserver.builtin import addresses
from webhook.apiserver.builtin.validation import checks
from webhook.apiserver.builtin.validation.checks import Errors

Object = dict[str, Any]

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PORT: Final = {
    "name": "Name",
    "protocol": "Protocol",
    "appProtocol": "AppProtocol",
    "port": "Port",
    "targetPort": "TargetPort",
    "nodePort": "NodePort",
}


def service(obj: Object) -> Errors:
    """Judge a Service."""
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        yield fielderrors.required("spec.ports")
    yield from _by_type(kind, spec)
    yield from _ports(ports)
    yield from checks.labels("spec.selector", spec.get("selector") or {})
    affinity = spec.get("sessionAffinity")
    yield from checks.one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    yield from _cluster_ips(kind, spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        yield from checks.ip(f"spec.externalIPs[{index}]", address)
    yield from checks.one_of("spec.type", kind, _TYPES)
    yield from _unique(ports)
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                detail = "may not be used when `type` is 'ClusterIP'"
                yield fielderrors.forbidden(f"spec.ports[{index}].nodePort", detail)


def _by_type(kind: str, spec: Object) -> Errors:
    if kind != "ExternalName":
        return
    if spec.get("clusterIP"):
        detail = "may not be set when `type` is 'ExternalName'"
        yield fielderrors.forbidden("spec.clusterIPs[0]", detail)
    name = spec.get("externalName", "")
    if not name:
        yield fielderrors.required("spec.externalName")
    else:
        problems = identifiers.subdomain_errors(name.removesuffix("."))
        yield from checks.worded("spec.externalName", name, problems)


def _ports(ports: Any) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            yield fielderrors.required(f"{where}.name")
        elif name:
            yield from checks.worded(f"{where}.name", name, identifiers.dns1123_label_errors(name))
            if name in names:
                yield fielderrors.duplicate(f"{where}.name", name)
            names.add(name)
        yield from checks.port(f"{where}.port", port.get("port", 0))
        yield from checks.one_of(f"{where}.protocol", port.get("protocol"), _PROTOCOLS)
        yield from checks.port_or_name(f"{where}.targetPort", port.get("targetPort", 0))


def _unique(ports: Any) -> Errors:
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {
                "name": "",
                "protocol": key[0],
                "appProtocol": None,
                "port": key[1],
                "targetPort": 0,
                "nodePort": 0,
            }
            yield fielderrors.duplicate(f"spec.ports[{index}]", checks.go_struct(shown, _PORT))
        seen.add(key)


def _cluster_ips(kind: str, spec: Object) -> Errors:
    if kind == "ExternalName":
        return
    wanted = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    for index, address in enumerate(wanted):
        where = f"spec.clusterIPs[{index}]"
        if address == "None":
            if kind in ("NodePort", "LoadBalancer"):
                detail = f"may not be set to 'None' for {kind} services"
                yield fielderrors.invalid(where, address, detail)
            continue
        found = list(checks.ip(where, address))
        yield from found
        if not found and ipaddress.ip_address(address) not in addresses.CLUSTER_NETWORK:
            detail = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid "
                f"range. The range of valid IPs is {addresses.CLUSTER_NETWORK}"
            )
            yield fielderrors.invalid("spec.clusterIPs", wanted, detail)


def service_update(obj: Object, old: Object) -> Errors:
    """Judge a change of a Service: its address is for life."""
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" in (spec.get("type"), before.get("type")) or not before.get("clusterIP"):
        return
    if spec.get("clusterIP") != before["clusterIP"]:
        shown = spec.get("clusterIPs") or [spec.get("clusterIP")]
        if shown == before.get("clusterIPs"):
            shown = [spec.get("clusterIP")]
        yield fielderrors.invalid("spec.clusterIPs[0]", shown, "may not change once set")


def endpoints(obj: Object) -> Errors:
    """Judge Endpoints."""
    for index, subset in enumerate(obj.get("subsets") or ()):
        where = f"subsets[{index}]"
        for kind in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(kind) or ()):
                yield from checks.ip(f"{where}.{kind}[{position}].ip", address.get("ip", ""))
        for position, port in enumerate(subset.get("ports") or ()):
            yield from checks.port(f"{where}.ports[{position}].port", port.get("port", 0))


def network_policy(obj: Object) -> Errors:
    """Judge a NetworkPolicy."""
    spec = obj.get("spec") or {}
    yield from checks.label_selector("spec.podSelector", spec.get("podSelector"))
    for kind, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(kind) or ()):
            yield from _rule(f"spec.{kind}[{index}]", rule, peers)
    for index, name in enumerate(spec.get("policyTypes") or ()):
        yield from checks.one_of(f"spec.policyTypes[{index}]", name, ("Ingress", "Egress"))


def _rule(path: str, rule: Object, peers: str) -> Errors:
    for index, port in enumerate(rule.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        yield from checks.one_of(f"{where}.protocol", port.get("protocol"), ("TCP", "UDP", "SCTP"))
        if port.get("port") is not None:
            yield from checks.port_or_name(f"{where}.port", port["port"])
    for index, peer in enumerate(rule.get(peers) or ()):
        yield from _peer(f"{path}.{peers}[{index}]", peer)


def _peer(path: str, peer: Object) -> Errors:
    if not any(
        peer.get(name) is not None for name in ("podSelector", "namespaceSelector", "ipBlock")
    ):
        yield fielderrors.required(path, "must specify a peer")
    for name in ("podSelector", "namespaceSelector"):
        yield from checks.label_selector(f"{path}.{name}", peer.get(name))
    block = peer.get("ipBlock")
    if block is not None:
        try:
            ipaddress.ip_network(block.get("cidr", ""), strict=False)
        except ValueError:
            detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield fielderrors.invalid(f"{path}.ipBlock.cidr", block.get("cidr", ""), detail)
