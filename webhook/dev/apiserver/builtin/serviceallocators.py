"""Allocate cluster IPs and node ports for Services."""

import ipaddress
import secrets
from collections.abc import Iterable
from typing import Any, Final

from webhook.dev.apiserver.builtin.reader import Reader
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified, StatusError

SERVICE_CLUSTER_IP_RANGE: Final = ipaddress.ip_network("10.0.0.0/16")
"""The range of cluster IPs; its first address belongs to the Service `kubernetes`."""
SERVICE_NODE_PORT_RANGE: Final = range(30000, 32768)
_RANDOM_DRAWS: Final = 16
_HEADLESS: Final = "None"
_ADDRESS_FIELDS: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_SERVICE: Final = Qualified("", "Service")


def allocate_create(obj: Draft, reader: Reader) -> None:
    """Allocate the cluster IP and node ports of a new Service."""
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return
    _set_families(spec)
    taken = {ip for other in _other_services(obj, reader) for ip in _cluster_ips(other)}
    cluster_ip = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if not cluster_ip:
        cluster_ip = _free_ip(taken)
    elif cluster_ip in taken:
        detail = f"failed to allocate IP {cluster_ip}: provided IP is already allocated"
        raise _invalid(obj, "spec.clusterIPs", [cluster_ip], detail)
    spec["clusterIP"] = cluster_ip
    spec["clusterIPs"] = [cluster_ip]
    _set_node_ports(obj, reader)


def allocate_update(obj: Draft, old: Draft, reader: Reader) -> None:
    """Keep the cluster IP and node ports of a Service, and allocate what its new type needs."""
    spec, before = obj["spec"], old["spec"]
    if spec["type"] == "ExternalName":
        for name in _ADDRESS_FIELDS:
            spec.pop(name, None)
        return
    if before.get("type") != "ExternalName":
        for name in _ADDRESS_FIELDS:
            if name in before and not spec.get(name):
                spec[name] = before[name]
        _copy_node_ports(spec, before)
        _set_node_ports(obj, reader)
        return
    allocate_create(obj, reader)


def _set_families(spec: Draft) -> None:
    if spec.get("clusterIP") == _HEADLESS and not spec.get("selector"):
        # The endpoints of such a Service are written by others and may be of either family.
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    else:
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _other_services(obj: Draft, reader: Reader) -> Iterable[Draft]:
    metadata = obj["metadata"]
    own_key = (metadata.get("namespace"), metadata.get("name"))
    for other in reader.list("services"):
        if (other["metadata"].get("namespace"), other["metadata"].get("name")) != own_key:
            yield other


def _cluster_ips(service: Draft) -> Iterable[str]:
    return (ip for ip in service["spec"].get("clusterIPs") or () if ip != _HEADLESS)


def _free_ip(taken: set[str]) -> str:
    first = int(SERVICE_CLUSTER_IP_RANGE[0])
    taken_offsets = {int(ipaddress.ip_address(ip)) - first for ip in taken}
    # Neither the network and broadcast addresses nor that of the Service `kubernetes` is free.
    free = range(2, SERVICE_CLUSTER_IP_RANGE.num_addresses - 1)
    return str(SERVICE_CLUSTER_IP_RANGE[_draw(free, taken_offsets)])


def _draw(numbers: range, taken: set[int]) -> int:
    """Draw a free number at random; after some failed draws, return the first free one."""
    for _ in range(_RANDOM_DRAWS):
        number = numbers[secrets.randbelow(len(numbers))]
        if number not in taken:
            return number
    for number in numbers:
        if number not in taken:
            return number
    raise status.internal_error("failed to allocate: range is full")


def _set_node_ports(obj: Draft, reader: Reader) -> None:
    spec = obj["spec"]
    needs_ports = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    )
    ports = spec.get("ports") or ()
    if not needs_ports:
        if spec["type"] == "ClusterIP":
            for port in ports:
                port.pop("nodePort", None)
        return
    taken = {
        port.get("nodePort")
        for other in _other_services(obj, reader)
        for port in other["spec"].get("ports") or ()
    }
    for port in ports:
        if not port.get("nodePort"):
            port["nodePort"] = _draw(SERVICE_NODE_PORT_RANGE, taken)
        elif port["nodePort"] in taken:
            path = f"spec.ports[{list(ports).index(port)}].nodePort"
            raise _invalid(obj, path, port["nodePort"], "provided port is already allocated")
        taken.add(port["nodePort"])


def _copy_node_ports(spec: Draft, before: Draft) -> None:
    node_ports = {
        (port.get("port"), port.get("protocol")): port.get("nodePort")
        for port in before.get("ports") or ()
    }
    for port in spec.get("ports") or ():
        node_port = node_ports.get((port.get("port"), port.get("protocol")))
        if node_port and not port.get("nodePort"):
            port["nodePort"] = node_port


def _invalid(obj: Draft, path: str, value: Any, detail: str) -> StatusError:
    error = fielderrors.invalid(path, value, detail)
    return status.invalid(_SERVICE, obj["metadata"].get("name", ""), [error])
