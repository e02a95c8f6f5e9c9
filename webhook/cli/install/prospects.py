"""What Espalier would take on in a cluster, and what it would leave to others."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.configuration import is_used
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.api.kinds import KINDS, Kind
from webhook.api.meta import Raw
from webhook.cli.install import rights
from webhook.cli.install.examination import Finding
from webhook.cli.install.rights import Right
from webhook.cluster import remembrance, requests
from webhook.cluster.client import Client
from webhook.cluster.landscape import Landscape, Served
from webhook.domain.options import Options

_APPLY: Final = "espalier manifests | kubectl apply --server-side -f -"


def judge(found: Landscape, served: Served, *, was_seen: bool = False) -> Iterator[Finding]:
    """Say who serves what, and which rules would be ours with default settings."""
    beside = found.has_gardener or was_seen
    yield _gardener(found, was_seen=was_seen)
    for kind in found.covered():
        yield Finding("missing", kind.resource, _remedy(found, kind))
    defined = list(found.to_define(beside_gardener=beside))
    yield Finding("note", "definitions of ours", _by_version(defined))
    yield from _of_others(found, served)
    yield from _unserved(found, defined)
    options = Options(beside_gardener=beside)
    if beside:
        left = [policy.name for policy in POLICIES if not policy.beside_gardener]
        yield Finding("note", "policies left to Gardener", _listed(left))
    ours = [policy for policy in POLICIES if policy.beside_gardener or not beside]
    used = [policy.name for policy in ours if is_used(policy, options)]
    yield Finding("note", "policies of ours", _listed(used))
    off = [policy.name for policy in ours if policy.name not in used]
    yield Finding("note", "policies that are off unless set", _listed(off))


def rollouts(sets: Iterable[Raw]) -> Iterator[Finding]:
    """Say which sets beside a Gardener are rolled by us, and which of their replicas differ."""
    for each in sets:
        metadata = each["metadata"]
        if (metadata.get("annotations") or {}).get(names.ROLLOUT) != "true":
            continue
        subject = f"managedseedset {metadata['namespace']}/{metadata['name']}"
        told = (each.get("status") or {}).get("conditions") or ()
        drifted = [c for c in told if c["type"] == names.DRIFTED and c["status"] == "True"]
        for condition in drifted:
            yield Finding("note", subject, f"replicas differ, {condition['message']}")
        if not drifted:
            yield Finding("note", subject, "rolled by Espalier")


def _gardener(found: Landscape, *, was_seen: bool) -> Finding:
    left = "managed seeds, replicas of sets and the capacity of seeds are left to it"
    if found.has_gardener:
        return Finding("note", "Gardener", f"there; Espalier adds to it, {left}")
    if was_seen:
        message = f"was seen here and its APIService is gone; {left}: {remembrance.REMEDY}"
        return Finding("optional", "Gardener", message)
    return Finding("note", "Gardener", "not there; Espalier serves and automates all kinds itself")


def _remedy(found: Landscape, kind: Kind) -> str:
    lost = found.lost_versions(kind)
    if kind.version in lost:
        return "an aggregated API covers our definition, delete one of them"
    remedy = f"run `{_APPLY}` again"
    return f"an aggregated API claims {', '.join(lost)} of our definition, {remedy}"


def _of_others(found: Landscape, served: Served) -> Iterator[Finding]:
    """Say which kinds others serve, in the version that we read, and which they do not."""
    claimed = [kind for kind in KINDS if kind.origin != "kubernetes" and found.is_claimed(kind)]
    yield Finding("note", "served by others", _by_version(filter(served.has, claimed)))
    for group_version, error in served.unasked.items():
        yield Finding("optional", group_version, f"does not answer now: {error}")
    lacking = [
        kind
        for kind in claimed
        if not served.has(kind) and kind.group_version not in served.unasked
    ]
    if lacking:
        message = f"{_by_version(lacking)}: what needs them is off"
        yield Finding("note", "claimed by others and not served", message)


def _by_version(kinds: Iterable[Kind]) -> str:
    grouped: dict[str, list[str]] = {}
    for kind in kinds:
        grouped.setdefault(kind.group_version, []).append(kind.name)
    return _listed([f"{', '.join(names)} ({version})" for version, names in grouped.items()])


def _unserved(found: Landscape, defined: list[Kind]) -> Iterator[Finding]:
    missing = [kind.name for kind in defined if kind.resource not in found.definitions]
    if missing:
        yield Finding("optional", "not installed", f"{_listed(missing)}: run `{_APPLY}`")


def _listed(found: Iterable[str]) -> str:
    """Name each once, though a policy may have a row for each kind."""
    return ", ".join(dict.fromkeys(found)) or "none"


async def refused(client: Client) -> list[Right]:
    """List the rights that the caller lacks of those that the server needs."""
    lacking: list[Right] = []
    for right in rights.CLUSTER:
        verbs = [verb for verb in right.verbs if not await _may(client, right, verb)]
        if verbs:
            lacking.append(right._replace(verbs=tuple(verbs)))
    return lacking


async def _may(client: Client, right: Right, verb: str) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {"verb": verb, "group": right.group, "resource": resource}
    if subresource:
        attributes["subresource"] = subresource
    if right.names:
        attributes["name"] = right.names[0]
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await client.document(requests.post(path, review))
    return bool(answer["status"].get("allowed"))
