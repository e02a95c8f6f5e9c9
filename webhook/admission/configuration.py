"""POLICIES as webhook configurations: which requests an API server brings to us, and how."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, product
from typing import Final, NamedTuple

from webhook.admission.conditions import STATUS, MatchCondition, conditions, number_changes
from webhook.admission.decision import Operation
from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.domain.options import AdmissionOptions, Failure, Options

NAME: Final = "espalier"
TIMEOUT_SECONDS: Final = 5
_DOMAIN: Final = "espalier.gardener.cloud"
_NEVER: Final = names.KUBE_SYSTEM
_MUTATE: Final = "mutate"
_VALIDATE: Final = "validate"


class Target(NamedTuple):
    """Where API servers reach us: a Service of their cluster, or a URL."""

    service: ObjectKey | None
    ca_bundle: bytes = b""
    url: str = ""
    port: int = 443


class Entry(NamedTuple):
    """Requests for one kind that are brought to one path with one failure policy."""

    kind: Kind
    half: str
    failure: Failure
    subresources: Mapping[Operation, tuple[str, ...]]
    """For each operation that is asked for, on what: the object itself is the empty text."""
    label: str = ""
    takes: bool = False
    """Whether an answer may be followed by a write of ours, though never on dry-run."""
    lets_go: bool = False
    """Whether changes of finalizers are brought to us, too."""
    changes: str = ""
    """Where set, only changes of this number are brought to us."""

    @property
    def is_status(self) -> bool:
        return any(STATUS in asked for asked in self.subresources.values())

    @property
    def name(self) -> str:
        """Name it so that a refusal says what was refused, as in shoots.validate.fail."""
        what = (
            "delete" if "DELETE" in self.subresources else STATUS if self.is_status else self.half
        )
        return f"{self.kind.plural}.{what}.{self.failure.lower()}.{_DOMAIN}"


def configurations(
    target: Target, options: Options, policies: Iterable[Policy] = POLICIES
) -> list[Draft]:
    """Make both configurations for the policies that are in use with these options."""
    used = [policy for policy in policies if is_used(policy, options)]
    return [
        _configuration(
            kind, [_webhook(entry, target, options) for entry in entries(used, options, half)]
        )
        for kind, half in (
            ("MutatingWebhookConfiguration", _MUTATE),
            ("ValidatingWebhookConfiguration", _VALIDATE),
        )
    ]


def check(options: AdmissionOptions) -> None:
    """Refuse names of policies that nobody knows: what they say would never be heard."""
    known = sorted({policy.name for policy in POLICIES})
    for name in (*options.modes, *chain(*options.exceptions.values()), *options.failures):
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}" if near else "`espalier doctor` lists them"
            raise ValueError(f"there is no policy {name}: {hint}")


def is_used(policy: Policy, options: Options) -> bool:
    """Tell whether a policy is ever asked: one that is off everywhere costs no calls."""
    if options.beside_gardener and not policy.beside_gardener:
        return False
    admission = options.admission
    return any(
        admission.mode(policy.name, namespace, policy.mode) != "off"
        for namespace in ("", *admission.exceptions)
    )


def entries(policies: Iterable[Policy], options: Options, half: str) -> Iterator[Entry]:
    """Group policies by what is called together.

    All policies for one operation on one kind are one call, so the call fails closed if one of
    them does. Deletions are a call of their own: only there is an object missing. So are writes of
    a status: no rule about a spec may hold up what controllers tell.
    """
    failures: dict[tuple[Kind, Operation, bool], Failure] = {}
    subresources: dict[tuple[Kind, Operation, bool], dict[str, None]] = {}
    policy_of: dict[tuple[Kind, bool], list[Policy]] = {}
    for policy in policies:
        if (policy.mutate if half == _MUTATE else policy.validate) is None:
            continue
        for model, operation, sub in product(policy.models, policy.operations, policy.subresources):
            kind, is_status = kind_of_model(model), sub == STATUS
            key = (kind, operation, is_status)
            if failures.get(key) != "Fail":
                failures[key] = _failure(policy, options)
            subresources.setdefault(key, {})[sub] = None
            policy_of.setdefault((kind, is_status), []).append(policy)
    grouped: dict[tuple[Kind, bool, bool, Failure], dict[Operation, tuple[str, ...]]] = {}
    for (kind, operation, is_status), failure in failures.items():
        found = grouped.setdefault((kind, operation == "DELETE", is_status, failure), {})
        found[operation] = tuple(subresources[kind, operation, is_status])
    for (kind, _, is_status, failure), asked in grouped.items():
        # Where one policy wants to see every namespace, the others look at the label themselves.
        judges = policy_of[kind, is_status]
        label = _common([policy.label for policy in judges])
        changes = _common([policy.changes for policy in judges])
        takes = any(policy.takes for policy in judges)
        lets_go = any(policy.lets_go for policy in judges)
        yield Entry(kind, half, failure, asked, label, takes, lets_go, changes)


def _common(said: list[str]) -> str:
    """Give what all say; the empty text, that is everything, where they differ."""
    return said[0] if len(set(said)) == 1 else ""


def _failure(policy: Policy, options: Options) -> Failure:
    """Beside a Gardener nothing of Gardener's may stop because we are down.

    Policies of scheduled scaling are about workloads, which must scale while we are away.
    """
    admission = options.admission
    if policy.name in admission.failures:
        return admission.failures[policy.name]
    if policy.label == names.SCALING_NAMESPACE:
        return policy.failure
    if admission.failure is not None:
        return admission.failure
    return "Ignore" if options.beside_gardener else policy.failure


def _configuration(kind: str, webhooks: list[Draft]) -> Draft:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": NAME,
            "labels": {names.APP_NAME: NAME, names.MANAGED_BY: NAME},
        },
        "webhooks": webhooks,
    }


def _webhook(entry: Entry, target: Target, options: Options) -> Draft:
    webhook: Draft = {
        "name": entry.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client(entry, target),
        "failurePolicy": entry.failure,
        "matchPolicy": "Equivalent",
        "rules": [*_rules(entry, options)],
        "sideEffects": "NoneOnDryRun" if entry.takes else "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if entry.label:
        webhook["namespaceSelector"] = _labelled(entry.label, options)
    elif entry.kind.namespaced:
        webhook["namespaceSelector"] = _namespaces(options)
    found: tuple[MatchCondition, ...] = (number_changes(entry.changes),) if entry.changes else ()
    if not entry.label:
        found = (*conditions(entry.subresources, options, lets_go=entry.lets_go), *found)
    webhook["matchConditions"] = [condition._asdict() for condition in found]
    if entry.half == _MUTATE:
        webhook["reinvocationPolicy"] = "IfNeeded"
    return {key: value for key, value in webhook.items() if value != []}


def _client(entry: Entry, target: Target) -> Draft:
    path = f"/{entry.half}"
    client: Draft = {}
    if target.ca_bundle:
        client["caBundle"] = base64.b64encode(target.ca_bundle).decode()
    if target.service is None:
        return client | {"url": f"{target.url.rstrip('/')}{path}"}
    service = {
        "namespace": target.service.namespace,
        "name": target.service.name,
        "path": path,
        "port": target.port,
    }
    return client | {"service": service}


def _rules(entry: Entry, options: Options) -> Iterator[Draft]:
    """Ask for operations on the same resources together."""
    kind = entry.kind
    more = () if options.beside_gardener else kind.also_served
    grouped: dict[tuple[str, ...], list[Operation]] = {}
    for operation, subresources in entry.subresources.items():
        grouped.setdefault(subresources, []).append(operation)
    for subresources, operations in grouped.items():
        yield {
            "apiGroups": [kind.group],
            "apiVersions": [kind.version, *more],
            "operations": operations,
            "resources": [f"{kind.plural}/{sub}" if sub else kind.plural for sub in subresources],
            "scope": "Namespaced" if kind.namespaced else "Cluster",
        }


def _labelled(label: str, options: Options) -> Draft:
    """Choose namespaces by their label; our own workloads never depend on ourselves."""
    excluded = [_NEVER, options.namespace] if label == names.SCALING_NAMESPACE else [_NEVER]
    never = {"key": names.NAMESPACE_NAME, "operator": "NotIn", "values": excluded}
    return {"matchExpressions": [{"key": label, "operator": "Exists"}, never]}


def _namespaces(options: Options) -> Draft:
    """Leave out kube-system and our own namespace, unless the garden itself is our home."""
    own, garden = options.namespace, options.admission.garden_namespace
    excluded = [_NEVER]
    if own != garden and not options.beside_gardener:
        excluded.append(own)
    expression = {"key": names.NAMESPACE_NAME, "operator": "NotIn", "values": excluded}
    return {"matchExpressions": [expression]}
