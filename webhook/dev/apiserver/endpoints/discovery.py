"""Discovery of groups, versions and resources, unaggregated and aggregated."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.registry.versionpriority import priority
from webhook.kube.meta import Draft

AGGREGATED: Final = "apidiscovery.k8s.io"
_ORDER: Final = (
    "", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io",
    "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
    "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io",
)  # fmt: skip
"""Built-in groups in the order in which kube-apiserver lists them."""


def groups(registry: Registry) -> dict[str, list[str]]:
    """Return the groups in order, each with its versions, the preferred version first."""
    found: dict[str, set[str]] = {}
    for resource in registry:
        found.setdefault(resource.group, set()).add(resource.version)
    known = [group for group in _ORDER if group in found]
    ordered = known + sorted(group for group in found if group not in _ORDER)
    return {group: sorted(found[group], key=priority) for group in ordered}


def api_versions(server_address: str) -> Draft:
    """Return the response to GET /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
        ],
    }


def group_list(registry: Registry) -> Draft:
    """Return the response to GET /apis."""
    named = [_group(name, versions) for name, versions in groups(registry).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def group(registry: Registry, name: str) -> Draft | None:
    """Return the response to GET /apis/GROUP; None if there is no such group."""
    versions = groups(registry).get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Draft:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(registry: Registry, group_name: str, version: str) -> Draft | None:
    """Return the response to GET /api/v1 or GET /apis/GROUP/VERSION; None without resources."""
    resources = [row for one in _served(registry, group_name, version) for row in _rows(one)]
    if not resources:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group_name else {}),
        "groupVersion": f"{group_name}/{version}" if group_name else version,
        "resources": resources,
    }


def _served(registry: Registry, group_name: str, version: str) -> list[Resource]:
    found = [one for one in registry if (one.group, one.version) == (group_name, version)]
    return sorted(found, key=lambda resource: resource.plural)


def _rows(resource: Resource) -> Iterator[Draft]:
    row: Draft = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    yield row
    for part in sorted(resource.subresources.values()):
        below: Draft = {
            "name": f"{resource.plural}/{part.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": part.kind or resource.kind,
            "verbs": list(part.verbs),
        }
        if part.group_version is not None and part.group_version != (
            resource.group,
            resource.version,
        ):
            below["group"], below["version"] = part.group_version
        yield below


def aggregated(registry: Registry, version: str, *, core: bool) -> Draft:
    """Return the aggregated discovery document of /api or /apis."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{AGGREGATED}/{version}",
        "metadata": {},
        "items": [
            _discovered(registry, name, versions)
            for name, versions in groups(registry).items()
            if (name == "") == core
        ],
    }


def _discovered(registry: Registry, name: str, versions: Iterable[str]) -> Draft:
    metadata = {"name": name} if name else {}
    return {
        "metadata": {**metadata, "creationTimestamp": None},
        "versions": [
            {
                "version": version,
                "resources": [_resource(one) for one in _served(registry, name, version)],
                "freshness": "Current",
            }
            for version in versions
        ],
    }


def _resource(resource: Resource) -> Draft:
    row: Draft = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _kind(
                    *(part.group_version or (resource.group, resource.version)),
                    part.kind or resource.kind,
                ),
                "verbs": list(part.verbs),
            }
            for part in sorted(resource.subresources.values())
        ]
    return row


def _kind(group_name: str, version: str, kind: str) -> Draft:
    return {"group": group_name, "version": version, "kind": kind}
