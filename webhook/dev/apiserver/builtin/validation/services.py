"""Validation of Services, Endpoints and NetworkPolicies."""

import ipaddress
from typing import Any, Final

from webhook.dev.apiserver.builtin import serviceallocators
from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PORT: Final = {
    "name": "Name",
    "protocol": "Protocol",
    "appProtocol": "AppProtocol",
    "port": "Port",
    "targetPort": "TargetPort",
    "nodePort": "NodePort",
}


def validate_service(obj: Raw) -> Errors:
    """Validate a Service."""
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        yield fielderrors.required("spec.ports")
    yield from _external_name(kind, spec)
    yield from _ports(ports)
    yield from checks.labels("spec.selector", spec.get("selector") or {})
    affinity = spec.get("sessionAffinity")
    yield from checks.one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    yield from _cluster_ips(kind, spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        yield from checks.ip_address(f"spec.externalIPs[{index}]", address)
    yield from checks.one_of("spec.type", kind, _TYPES)
    yield from _unique_ports(ports)
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                detail = "may not be used when `type` is 'ClusterIP'"
                yield fielderrors.forbidden(f"spec.ports[{index}].nodePort", detail)


def _external_name(kind: str, spec: Raw) -> Errors:
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
        yield from checks.invalid_each("spec.externalName", name, problems)


def _ports(ports: Any) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            yield fielderrors.required(f"{where}.name")
        elif name:
            yield from checks.invalid_each(
                f"{where}.name", name, identifiers.dns1123_label_errors(name)
            )
            if name in names:
                yield fielderrors.duplicate(f"{where}.name", name)
            names.add(name)
        yield from checks.port(f"{where}.port", port.get("port", 0))
        yield from checks.one_of(f"{where}.protocol", port.get("protocol"), checks.PROTOCOLS)
        yield from checks.port_or_name(f"{where}.targetPort", port.get("targetPort", 0))


def _unique_ports(ports: Any) -> Errors:
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


def _cluster_ips(kind: str, spec: Raw) -> Errors:
    if kind == "ExternalName":
        return
    cluster_ips = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    for index, address in enumerate(cluster_ips):
        where = f"spec.clusterIPs[{index}]"
        if address == "None":
            if kind in ("NodePort", "LoadBalancer"):
                detail = f"may not be set to 'None' for {kind} services"
                yield fielderrors.invalid(where, address, detail)
            continue
        found = list(checks.ip_address(where, address))
        yield from found
        if (
            not found
            and ipaddress.ip_address(address) not in serviceallocators.SERVICE_CLUSTER_IP_RANGE
        ):
            detail = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid "
                f"range. The range of valid IPs is {serviceallocators.SERVICE_CLUSTER_IP_RANGE}"
            )
            yield fielderrors.invalid("spec.clusterIPs", cluster_ips, detail)


def validate_service_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a Service; its cluster IP is immutable."""
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" in (spec.get("type"), before.get("type")) or not before.get("clusterIP"):
        return
    if spec.get("clusterIP") != before["clusterIP"]:
        shown = spec.get("clusterIPs") or [spec.get("clusterIP")]
        if shown == before.get("clusterIPs"):
            shown = [spec.get("clusterIP")]
        yield fielderrors.invalid("spec.clusterIPs[0]", shown, "may not change once set")


def validate_endpoints(obj: Raw) -> Errors:
    """Validate Endpoints."""
    for index, subset in enumerate(obj.get("subsets") or ()):
        where = f"subsets[{index}]"
        for kind in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(kind) or ()):
                yield from checks.ip_address(
                    f"{where}.{kind}[{position}].ip", address.get("ip", "")
                )
        for position, port in enumerate(subset.get("ports") or ()):
            yield from checks.port(f"{where}.ports[{position}].port", port.get("port", 0))


def validate_network_policy(obj: Raw) -> Errors:
    """Validate a NetworkPolicy."""
    spec = obj.get("spec") or {}
    yield from checks.label_selector("spec.podSelector", spec.get("podSelector"))
    for kind, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(kind) or ()):
            yield from _rule(f"spec.{kind}[{index}]", rule, peers)
    for index, name in enumerate(spec.get("policyTypes") or ()):
        yield from checks.one_of(f"spec.policyTypes[{index}]", name, ("Ingress", "Egress"))


def _rule(path: str, rule: Raw, peers: str) -> Errors:
    for index, port in enumerate(rule.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        yield from checks.one_of(f"{where}.protocol", port.get("protocol"), ("TCP", "UDP", "SCTP"))
        if port.get("port") is not None:
            yield from checks.port_or_name(f"{where}.port", port["port"])
        yield from _end_port(where, port)
    for index, peer in enumerate(rule.get(peers) or ()):
        yield from _peer(f"{path}.{peers}[{index}]", peer)


def _end_port(path: str, port: Raw) -> Errors:
    first, last = port.get("port"), port.get("endPort")
    if last is None:
        return
    if not isinstance(first, int):
        problem = "not specified" if first is None else "non-numeric"
        detail = f"may not be specified when `port` is {problem}"
        yield fielderrors.invalid(f"{path}.endPort", last, detail)
        return
    if last < first:
        # Kubernetes shows the first port, not the last one.
        detail = "must be greater than or equal to `port`"
        yield fielderrors.invalid(f"{path}.endPort", first, detail)
    yield from checks.port(f"{path}.endPort", last)


def _peer(path: str, peer: Raw) -> Errors:
    found = [
        name
        for name in ("podSelector", "namespaceSelector", "ipBlock")
        if peer.get(name) is not None
    ]
    if not found:
        yield fielderrors.required(path, "must specify a peer")
    if "ipBlock" in found and len(found) > 1:
        yield fielderrors.forbidden(path, "may not specify both ipBlock and another peer")
    for name in ("podSelector", "namespaceSelector"):
        yield from checks.label_selector(f"{path}.{name}", peer.get(name))
    if "ipBlock" in found:
        yield from _ip_block(f"{path}.ipBlock", peer["ipBlock"])


def _ip_block(path: str, block: Raw) -> Errors:
    cidr = block.get("cidr", "")
    if not cidr:
        yield fielderrors.required(f"{path}.cidr")
        return
    whole = checks.parse_cidr(cidr)
    if whole is None:
        yield fielderrors.invalid(f"{path}.cidr", cidr, checks.CIDR_RULE)
        return
    for index, written in enumerate(block.get("except") or ()):
        where, part = f"{path}.except[{index}]", checks.parse_cidr(written)
        if part is None:
            yield fielderrors.invalid(where, written, checks.CIDR_RULE)
        elif not checks.is_strict_subnet(part, whole):
            yield fielderrors.invalid(where, written, "must be a strict subset of `cidr`")
