"""Cells of all other built-in kinds."""

from datetime import datetime
from typing import Any, Final

from webhook.apiserver.builtin.printing.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Heading,
    count,
    field,
    find,
    joined,
    labels,
    name,
    selector,
    since,
)

Object = dict[str, Any]


def _data(obj: Object, now: datetime) -> int:
    del now
    return sum(len(find(obj, key, default=())) for key in ("data", "binaryData"))


CONFIG_MAP: Final = (NAME, Heading("Data", _data), AGE)
SECRET: Final = (NAME, Heading("Type", field("type")), Heading("Data", count("data")), AGE)
SERVICE_ACCOUNT: Final = (NAME, AGE)
NAMESPACE: Final = (NAME, Heading("Status", field("status", "phase")), AGE)


def _cluster_ip(service: Object, now: datetime) -> str:
    del now
    return find(service, "spec", "clusterIP") or NONE


def _external_ip(service: Object, now: datetime) -> str:
    del now
    kind = find(service, "spec", "type")
    if kind == "ExternalName":
        return str(find(service, "spec", "externalName", default=""))
    given = list(find(service, "spec", "externalIPs", default=()))
    if kind == "LoadBalancer":
        ingress = find(service, "status", "loadBalancer", "ingress", default=())
        given = [one.get("ip") or one.get("hostname", "") for one in ingress] + given
        return joined(given) or "<pending>"
    return joined(given) or NONE


def _ports(service: Object, now: datetime) -> str:
    del now
    shown = []
    for port in find(service, "spec", "ports", default=()):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return joined(shown) or NONE


def _service_selector(service: Object, now: datetime) -> str:
    del now
    return labels(find(service, "spec", "selector"))


SERVICE: Final = (
    NAME,
    Heading("Type", field("spec", "type")),
    Heading("Cluster-IP", _cluster_ip),
    Heading("External-IP", _external_ip),
    Heading("Port(s)", _ports),
    AGE,
    Heading("Selector", _service_selector, wide=True),
)


def _endpoints(obj: Object, now: datetime) -> str:
    del now
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    return _some(found)


def _some(found: list[str]) -> str:
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return (joined(found[:3]) or NONE) + more


ENDPOINTS: Final = (NAME, Heading("Endpoints", _endpoints), AGE)


def _slice_ports(obj: Object, now: datetime) -> str:
    del now
    ports = obj.get("ports") or ()
    return _some([str(port.get("port", "*")) for port in ports]) if ports else "<unset>"


def _slice_addresses(obj: Object, now: datetime) -> str:
    del now
    endpoints = obj.get("endpoints") or ()
    found = [address for one in endpoints for address in one.get("addresses") or ()]
    return _some(found) if endpoints else "<unset>"


ENDPOINT_SLICE: Final = (
    NAME,
    Heading("AddressType", field("addressType")),
    Heading("Ports", _slice_ports),
    Heading("Endpoints", _slice_addresses),
    AGE,
)


def _seen(*paths: tuple[str, ...]) -> Cell:
    def cell(event: Object, now: datetime) -> str:
        for path in paths:
            timestamp = find(event, *path)
            if timestamp:
                return since(timestamp, now)
        return UNKNOWN

    return cell


def _about(key: str) -> Cell:
    def cell(event: Object, now: datetime) -> str:
        del now
        about = event.get(key) or {}
        return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"

    return cell


def _source(key: str, controller: str) -> Cell:
    def cell(event: Object, now: datetime) -> str:
        del now
        source = event.get(key) or {}
        component = source.get("component") or event.get(controller) or ""
        host = source.get("host") or event.get("reportingInstance") or ""
        return f"{component}, {host}" if host else str(component)

    return cell


def _times(key: str) -> Cell:
    def cell(event: Object, now: datetime) -> int:
        del now
        found: int = find(event, "series", "count") or event.get(key) or 1
        return found

    return cell


def _message(key: str) -> Cell:
    def cell(event: Object, now: datetime) -> str:
        del now
        return str(event.get(key) or "").strip()

    return cell


EVENT: Final = (
    Heading("Last Seen", _seen(("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",))),
    Heading("Type", field("type")),
    Heading("Reason", field("reason")),
    Heading("Object", _about("involvedObject")),
    Heading("Subobject", field("involvedObject", "fieldPath"), wide=True),
    Heading("Source", _source("source", "reportingComponent"), wide=True),
    Heading("Message", _message("message")),
    Heading("First Seen", _seen(("firstTimestamp",), ("eventTime",)), wide=True),
    Heading("Count", _times("count"), wide=True),
    Heading("Name", name, wide=True, format="name"),
)


def _quota(*keys: str) -> Cell:
    def cell(obj: Object, now: datetime) -> str:
        del now
        hard = find(obj, "status", "hard", default={})
        used = find(obj, "status", "used", default={})
        limits = keys == ("limits.",)
        shown = [
            f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
            for resource in sorted(hard)
            if resource.startswith("limits.") == limits
        ]
        return ", ".join(shown)

    return cell


QUOTA: Final = (NAME, Heading("Request", _quota("")), Heading("Limit", _quota("limits.")), AGE)
WEBHOOKS: Final = (NAME, Heading("Webhooks", count("webhooks"), type="integer"), AGE)
LEASE: Final = (NAME, Heading("Holder", field("spec", "holderIdentity")), AGE)


def _service(obj: Object, now: datetime) -> str:
    del now
    service = find(obj, "spec", "service")
    return f"{service['namespace']}/{service['name']}" if service else "Local"


def _available(obj: Object, now: datetime) -> str:
    del now
    for condition in find(obj, "status", "conditions", default=()):
        if condition["type"] == "Available":
            shown = str(condition["status"])
            return shown if shown == "True" else f"{shown} ({condition.get('reason', '')})"
    return "Unknown"


API_SERVICE: Final = (NAME, Heading("Service", _service), Heading("Available", _available), AGE)


def _pod_selector(obj: Object, now: datetime) -> str:
    del now
    return selector(find(obj, "spec", "podSelector"))


NETWORK_POLICY: Final = (NAME, Heading("Pod-Selector", _pod_selector), AGE)


def _role(obj: Object, now: datetime) -> str:
    del now
    reference = obj.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    def cell(obj: Object, now: datetime) -> str:
        del now
        found = (one for one in obj.get("subjects") or () if one.get("kind") == kind)
        if kind == "ServiceAccount":
            return ", ".join(f"{one.get('namespace', '')}/{one['name']}" for one in found)
        return ", ".join(one["name"] for one in found)

    return cell


BINDING: Final = (
    NAME,
    Heading("Role", _role),
    AGE,
    Heading("Users", _subjects("User"), wide=True),
    Heading("Groups", _subjects("Group"), wide=True),
    Heading("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
PRIORITY_CLASS: Final = (
    NAME,
    Heading("Value", field("value", default=0), type="integer"),
    Heading("Global-Default", field("globalDefault", default=False), type="boolean"),
    AGE,
    Heading("PreemptionPolicy", field("preemptionPolicy")),
)
