"""What Espalier would take on in a cluster, and what it would leave to others."""

from collections.abc import Iterable, Iterator

from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.api.kinds import KINDS, Kind
from webhook.api.meta import Raw
from webhook.cli.install import rights
from webhook.cli.install.examination import Finding
from webhook.cli.install.rights import Right
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.landscape import Landscape


def judge(found: Landscape) -> Iterator[Finding]:
    """Say who serves what, and which rules would be ours."""
    yield _gardener(found)
    for kind in found.covered():
        remedy = "an aggregated API covers our definition, delete one of them"
        yield Finding("missing", kind.resource, remedy)
    defined = list(found.to_define())
    yield Finding("note", "definitions of ours", _listed(kind.name for kind in defined))
    claimed = [kind for kind in KINDS if kind.origin != "kubernetes" and found.is_claimed(kind)]
    yield Finding("note", "served by others", _listed(kind.name for kind in claimed))
    yield from _unserved(found, defined)
    if found.has_gardener:
        left = [policy.name for policy in POLICIES if not policy.beside_gardener]
        yield Finding("note", "policies left to Gardener", _listed(left))
    taken = [policy for policy in POLICIES if policy.beside_gardener or not found.has_gardener]
    yield Finding("note", "policies of ours", _listed(policy.name for policy in taken))


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


def _gardener(found: Landscape) -> Finding:
    if found.has_gardener:
        left = "managed seeds, replicas of sets and the capacity of seeds are left to it"
        return Finding("note", "Gardener", f"there; Espalier adds to it, {left}")
    return Finding("note", "Gardener", "not there; Espalier serves and automates all kinds itself")


def _unserved(found: Landscape, defined: list[Kind]) -> Iterator[Finding]:
    missing = [kind.name for kind in defined if kind.resource not in found.definitions]
    if missing:
        remedy = "run `espalier manifests | kubectl apply --server-side -f -`"
        yield Finding("optional", "not installed", f"{_listed(missing)}: {remedy}")


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
