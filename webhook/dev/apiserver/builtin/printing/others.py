"""Columns of the built-in kinds other than Pods, Nodes and workloads."""

from datetime import datetime
from typing import Final

from webhook.dev.apiserver.builtin.printing.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    PrinterColumn,
    cell,
    count,
    field,
    find,
    format_labels,
    format_selector,
    join,
    name,
    since,
)
from webhook.kube.meta import Raw


@cell
def _data(obj: Raw) -> int:
    return sum(len(find(obj, key, default=())) for key in ("data", "binaryData"))


CONFIG_MAP: Final = (NAME, PrinterColumn("Data", _data), AGE)
SECRET: Final = (
    NAME,
    PrinterColumn("Type", field("type")),
    PrinterColumn("Data", count("data")),
    AGE,
)
SERVICE_ACCOUNT: Final = (NAME, AGE)
NAMESPACE: Final = (NAME, PrinterColumn("Status", field("status", "phase")), AGE)


@cell
def _cluster_ip(service: Raw) -> str:
    return find(service, "spec", "clusterIP") or NONE


@cell
def _external_ip(service: Raw) -> str:
    kind = find(service, "spec", "type")
    if kind == "ExternalName":
        return str(find(service, "spec", "externalName", default=""))
    addresses = list(find(service, "spec", "externalIPs", default=()))
    if kind == "LoadBalancer":
        ingress = find(service, "status", "loadBalancer", "ingress", default=())
        addresses = [one.get("ip") or one.get("hostname", "") for one in ingress] + addresses
        return join(addresses) or "<pending>"
    return join(addresses) or NONE


@cell
def _ports(service: Raw) -> str:
    printed = []
    for port in find(service, "spec", "ports", default=()):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        printed.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return join(printed) or NONE


@cell
def _service_selector(service: Raw) -> str:
    return format_labels(find(service, "spec", "selector"))


SERVICE: Final = (
    NAME,
    PrinterColumn("Type", field("spec", "type")),
    PrinterColumn("Cluster-IP", _cluster_ip),
    PrinterColumn("External-IP", _external_ip),
    PrinterColumn("Port(s)", _ports),
    AGE,
    PrinterColumn("Selector", _service_selector, wide=True),
)


@cell
def _endpoints(obj: Raw) -> str:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    return _first_three(found)


def _first_three(found: list[str]) -> str:
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return (join(found[:3]) or NONE) + more


ENDPOINTS: Final = (NAME, PrinterColumn("Endpoints", _endpoints), AGE)


@cell
def _slice_ports(obj: Raw) -> str:
    ports = obj.get("ports") or ()
    return _first_three([str(port.get("port", "*")) for port in ports]) if ports else "<unset>"


@cell
def _slice_addresses(obj: Raw) -> str:
    endpoints = obj.get("endpoints") or ()
    found = [address for one in endpoints for address in one.get("addresses") or ()]
    return _first_three(found) if endpoints else "<unset>"


ENDPOINT_SLICE: Final = (
    NAME,
    PrinterColumn("AddressType", field("addressType")),
    PrinterColumn("Ports", _slice_ports),
    PrinterColumn("Endpoints", _slice_addresses),
    AGE,
)


def _time_since(*paths: tuple[str, ...]) -> Cell:
    def print_at(event: Raw, now: datetime) -> str:
        for path in paths:
            timestamp = find(event, *path)
            if timestamp:
                return since(timestamp, now)
        return UNKNOWN

    return print_at


@cell
def _involved_object(event: Raw) -> str:
    involved = event.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


@cell
def _source(event: Raw) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {host}" if host else str(component)


@cell
def _occurrences(event: Raw) -> int:
    found: int = find(event, "series", "count") or event.get("count") or 1
    return found


@cell
def _message(event: Raw) -> str:
    return str(event.get("message") or "").strip()


EVENT: Final = (
    PrinterColumn(
        "Last Seen", _time_since(("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",))
    ),
    PrinterColumn("Type", field("type")),
    PrinterColumn("Reason", field("reason")),
    PrinterColumn("Object", _involved_object),
    PrinterColumn("Subobject", field("involvedObject", "fieldPath"), wide=True),
    PrinterColumn("Source", _source, wide=True),
    PrinterColumn("Message", _message),
    PrinterColumn("First Seen", _time_since(("firstTimestamp",), ("eventTime",)), wide=True),
    PrinterColumn("Count", _occurrences, wide=True),
    PrinterColumn("Name", name, wide=True, format="name"),
)


def _quota(*, limits: bool) -> Cell:
    @cell
    def print_cell(obj: Raw) -> str:
        hard = find(obj, "status", "hard", default={})
        used = find(obj, "status", "used", default={})
        printed = [
            f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
            for resource in sorted(hard)
            if resource.startswith("limits.") == limits
        ]
        return ", ".join(printed)

    return print_cell


QUOTA: Final = (
    NAME,
    PrinterColumn("Request", _quota(limits=False)),
    PrinterColumn("Limit", _quota(limits=True)),
    AGE,
)
WEBHOOKS: Final = (NAME, PrinterColumn("Webhooks", count("webhooks"), type="integer"), AGE)
LEASE: Final = (NAME, PrinterColumn("Holder", field("spec", "holderIdentity")), AGE)


@cell
def _service(obj: Raw) -> str:
    service = find(obj, "spec", "service")
    return f"{service['namespace']}/{service['name']}" if service else "Local"


@cell
def _available(obj: Raw) -> str:
    for condition in find(obj, "status", "conditions", default=()):
        if condition["type"] == "Available":
            printed = str(condition["status"])
            return printed if printed == "True" else f"{printed} ({condition.get('reason', '')})"
    return "Unknown"


API_SERVICE: Final = (
    NAME,
    PrinterColumn("Service", _service),
    PrinterColumn("Available", _available),
    AGE,
)


@cell
def _pod_selector(obj: Raw) -> str:
    return format_selector(find(obj, "spec", "podSelector"))


NETWORK_POLICY: Final = (NAME, PrinterColumn("Pod-Selector", _pod_selector), AGE)


@cell
def _role(obj: Raw) -> str:
    reference = obj.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    @cell
    def print_cell(obj: Raw) -> str:
        found = (one for one in obj.get("subjects") or () if one.get("kind") == kind)
        if kind == "ServiceAccount":
            return ", ".join(f"{one.get('namespace', '')}/{one['name']}" for one in found)
        return ", ".join(one["name"] for one in found)

    return print_cell


BINDING: Final = (
    NAME,
    PrinterColumn("Role", _role),
    AGE,
    PrinterColumn("Users", _subjects("User"), wide=True),
    PrinterColumn("Groups", _subjects("Group"), wide=True),
    PrinterColumn("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
PRIORITY_CLASS: Final = (
    NAME,
    PrinterColumn("Value", field("value", default=0), type="integer"),
    PrinterColumn("Global-Default", field("globalDefault", default=False), type="boolean"),
    AGE,
    PrinterColumn("PreemptionPolicy", field("preemptionPolicy")),
)
