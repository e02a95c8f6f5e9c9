"""Checks of a cluster: what Espalier would manage, and what Gardener or others manage."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.table import POLICIES
from webhook.admission.webhook_configurations import is_used
from webhook.api import names
from webhook.api.kinds import KINDS, Kind
from webhook.cli.install.examine.machine import DoctorCheck
from webhook.cli.install.generate import permissions
from webhook.cli.install.generate.roles import namespace_of
from webhook.cli.install.generate.rules import PermissionRule
from webhook.cli.install.layout import Layout
from webhook.cluster import gardener_marker, requests
from webhook.cluster.client import Client
from webhook.cluster.discovery import DiscoveredApis, InstalledApis
from webhook.domain.features import has_policy
from webhook.domain.options import Options
from webhook.kube.meta import Raw

_APPLY: Final = "espalier manifests | kubectl apply --server-side -f -"


def examine_landscape(
    found: InstalledApis, served: DiscoveredApis, layout: Layout, *, was_seen: bool = False
) -> Iterator[DoctorCheck]:
    """Yield who serves which kinds, and which policies apply with default settings."""
    beside = found.has_gardener or was_seen
    yield _gardener(found, was_seen=was_seen)
    for kind in found.with_claimed_versions():
        yield DoctorCheck("missing", kind.resource, _remedy(found, kind))
    defined = list(filter(layout.defines, found.to_define(beside_gardener=beside)))
    yield DoctorCheck("note", "definitions of ours", _by_version(defined))
    yield from _served_by_others(found, served)
    yield from _uninstalled(found, defined)
    options = Options(beside_gardener=beside, features=layout.features)
    if beside:
        left = [policy.name for policy in POLICIES if not policy.beside_gardener]
        yield DoctorCheck("note", "policies left to Gardener", _joined(left))
    ours = [
        policy
        for policy in POLICIES
        if (policy.beside_gardener or not beside) and has_policy(layout.features, policy.name)
    ]
    used = [policy.name for policy in ours if is_used(policy, options)]
    yield DoctorCheck("note", "policies of ours", _joined(used))
    off = [policy.name for policy in ours if policy.name not in used]
    yield DoctorCheck("note", "policies that are off unless set", _joined(off))


def examine_rollouts(sets: Iterable[Raw]) -> Iterator[DoctorCheck]:
    """Yield the ManagedSeedSets that Espalier rolls out beside a Gardener, and their drift."""
    for each in sets:
        metadata = each["metadata"]
        if (metadata.get("annotations") or {}).get(names.ROLLOUT) != "true":
            continue
        subject = f"managedseedset {metadata['namespace']}/{metadata['name']}"
        conditions = (each.get("status") or {}).get("conditions") or ()
        drifted = [c for c in conditions if c["type"] == names.DRIFTED and c["status"] == "True"]
        for condition in drifted:
            yield DoctorCheck("note", subject, f"replicas differ, {condition['message']}")
        if not drifted:
            yield DoctorCheck("note", subject, "rolled out by Espalier")


def _gardener(found: InstalledApis, *, was_seen: bool) -> DoctorCheck:
    left = "it manages ManagedSeeds, replicas of ManagedSeedSets and the capacity of seeds"
    if found.has_gardener:
        return DoctorCheck("note", "Gardener", f"there; Espalier adds to it, {left}")
    if was_seen:
        message = f"was seen here and its APIService is gone; {left}: {gardener_marker.REMEDY}"
        return DoctorCheck("optional", "Gardener", message)
    return DoctorCheck(
        "note", "Gardener", "not there; Espalier serves and reconciles all kinds itself"
    )


def _remedy(found: InstalledApis, kind: Kind) -> str:
    claimed = found.claimed_versions(kind)
    if kind.version in claimed:
        return "an aggregated API covers our definition, delete one of them"
    remedy = f"run `{_APPLY}` again"
    return f"an aggregated API claims {', '.join(claimed)} of our definition, {remedy}"


def _served_by_others(found: InstalledApis, served: DiscoveredApis) -> Iterator[DoctorCheck]:
    """Yield which kinds others serve in the version that Espalier reads, and which not.

    Only discovery shows that: an APIService or a definition may exist without being served.
    """
    claimed = [kind for kind in KINDS if kind.origin != "kubernetes" and found.is_claimed(kind)]
    yield DoctorCheck("note", "served by others", _by_version(filter(served.has, claimed)))
    for group_version, error in served.unreachable.items():
        yield DoctorCheck("optional", group_version, f"does not answer now: {error}")
    unserved = [
        kind
        for kind in claimed
        if not served.has(kind) and kind.api_version not in served.unreachable
    ]
    if unserved:
        message = f"{_by_version(unserved)}: features that need them are off"
        yield DoctorCheck("note", "claimed by others and not served", message)


def _by_version(kinds: Iterable[Kind]) -> str:
    grouped: dict[str, list[str]] = {}
    for kind in kinds:
        grouped.setdefault(kind.api_version, []).append(kind.name)
    return _joined([f"{', '.join(listed)} ({version})" for version, listed in grouped.items()])


def _uninstalled(found: InstalledApis, defined: list[Kind]) -> Iterator[DoctorCheck]:
    missing = [kind.name for kind in defined if kind.resource not in found.definitions]
    if missing:
        yield DoctorCheck("optional", "not installed", f"{_joined(missing)}: run `{_APPLY}`")


def _joined(found: Iterable[str]) -> str:
    """Join names, each once: a policy may have a row for each kind."""
    return ", ".join(dict.fromkeys(found)) or "none"


async def missing_permissions(client: Client, layout: Layout) -> list[PermissionRule]:
    """Return the permissions of the server that the caller does not have."""
    missing: list[PermissionRule] = []
    for rule in permissions.granted(layout):
        namespace = namespace_of(rule.scope, layout)
        verbs = [
            verb for verb in rule.verbs if not await _is_allowed(client, rule, verb, namespace)
        ]
        if verbs:
            missing.append(rule._replace(verbs=tuple(verbs)))
    return missing


async def _is_allowed(client: Client, rule: PermissionRule, verb: str, namespace: str) -> bool:
    resource, _, subresource = rule.resource.partition("/")
    attributes = {"verb": verb, "group": rule.group, "resource": resource}
    if namespace:
        attributes["namespace"] = namespace
    if subresource:
        attributes["subresource"] = subresource
    if rule.names:
        attributes["name"] = rule.names[0]
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    result = await client.document(requests.post(path, review))
    return bool(result["status"].get("allowed"))
