"""The addresses and node ports that Services get."""

import ipaddress
import secrets
from collections.abc import Iterable
from typing import Any, Final

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver.builtin.reading import Reader

Object = dict[str, Any]

#: The range of cluster addresses; its first address belongs to the API server's own Service.
CLUSTER_NETWORK: Final = ipaddress.ip_network("10.0.0.0/16")
NODE_PORTS: Final = range(30000, 32768)
_DRAWS: Final = 16
_HEADLESS: Final = "None"
_SERVICE: Final = Qualified("", "Service")


def create(obj: Object, reader: Reader) -> None:
    """Give a new Service what it needs."""
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return
    _set_families(spec)
    taken = {ip for other in _others(obj, reader) for ip in _ips(other)}
    wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if not wanted:
        wanted = _unused(taken)
    elif wanted in taken:
        raise _refused(obj, "spec.clusterIPs", [wanted], "failed to allocate IP", wanted)
    spec["clusterIP"] = wanted
    spec["clusterIPs"] = [wanted]
    _set_node_ports(obj, reader)


def update(obj: Object, old: Object, reader: Reader) -> None:
    """Keep what a Service has, and give it what its new type needs."""
    spec, before = obj["spec"], old["spec"]
    if spec["type"] == "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(name, None)
        return
    if before.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if name in before and not spec.get(name):
                spec[name] = before[name]
        _keep_node_ports(spec, before)
        _set_node_ports(obj, reader)
        return
    create(obj, reader)


def _set_families(spec: Object) -> None:
    if spec.get("clusterIP") == _HEADLESS and not spec.get("selector"):
        # Nobody knows what the endpoints of such a Service will be, so it may have any.
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    else:
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _others(obj: Object, reader: Reader) -> Iterable[Object]:
    metadata = obj["metadata"]
    own = (metadata.get("namespace"), metadata.get("name"))
    for other in reader.list("services"):
        if (other["metadata"].get("namespace"), other["metadata"].get("name")) != own:
            yield other


def _ips(service: Object) -> Iterable[str]:
    return (ip for ip in service["spec"].get("clusterIPs") or () if ip != _HEADLESS)


def _unused(taken: set[str]) -> str:
    return str(
        CLUSTER_NETWORK[
            _drawn(
                range(2, CLUSTER_NETWORK.num_addresses - 1),
                {int(ipaddress.ip_address(ip)) - int(CLUSTER_NETWORK[0]) for ip in taken},
            )
        ]
    )


def _drawn(numbers: range, taken: set[int]) -> int:
    """Draw a free number, and take the first free one where luck does not help."""
    for _ in range(_DRAWS):
        drawn = numbers[secrets.randbelow(len(numbers))]
        if drawn not in taken:
            return drawn
    for number in numbers:
        if number not in taken:
            return number
    raise status.internal_error("failed to allocate: range is full")


def _set_node_ports(obj: Object, reader: Reader) -> None:
    spec = obj["spec"]
    wants = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    )
    ports = spec.get("ports") or ()
    if not wants:
        if spec["type"] == "ClusterIP":
            for port in ports:
                port.pop("nodePort", None)
        return
    taken = {
        port.get("nodePort")
        for other in _others(obj, reader)
        for port in other["spec"].get("ports") or ()
    }
    for port in ports:
        if not port.get("nodePort"):
            port["nodePort"] = _drawn(NODE_PORTS, taken)
        elif port["nodePort"] in taken:
            detail = "provided port is already allocated"
            index = list(ports).index(port)
            path = f"spec.ports[{index}].nodePort"
            error = fielderrors.invalid(path, port["nodePort"], detail)
            raise status.invalid(_SERVICE, obj["metadata"].get("name", ""), [error])
        taken.add(port["nodePort"])


def _keep_node_ports(spec: Object, before: Object) -> None:
    known = {
        (port.get("port"), port.get("protocol")): port.get("nodePort")
        for port in before.get("ports") or ()
    }
    for port in spec.get("ports") or ():
        kept = known.get((port.get("port"), port.get("protocol")))
        if kept and not port.get("nodePort"):
            port["nodePort"] = kept


def _refused(obj: Object, path: str, value: Any, why: str, address: str) -> status.StatusError:
    detail = f"{why} {address}: provided IP is already allocated"
    error = fielderrors.invalid(path, value, detail)
    return status.invalid(_SERVICE, obj["metadata"].get("name", ""), [error])
