"""Webhook configurations for POLICIES: which requests API servers send to the webhook, and how."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, product
from typing import Final, NamedTuple

from webhook.admission.decision import Operation
from webhook.admission.match_conditions import (
    STATUS,
    MatchCondition,
    match_conditions,
    number_changes,
)
from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.api.kinds import Kind, kind_of_model
from webhook.domain import features
from webhook.domain.options import AdmissionOptions, FailurePolicy, Options
from webhook.kube.meta import Draft, ObjectKey

NAME: Final = "espalier"
TIMEOUT_SECONDS: Final = 5
_DOMAIN: Final = "espalier.gardener.cloud"
_NEVER: Final = names.KUBE_SYSTEM
_MUTATE: Final = "mutate"
_VALIDATE: Final = "validate"


class WebhookTarget(NamedTuple):
    """How API servers reach the webhook: a Service of their cluster, or a URL."""

    service: ObjectKey | None
    ca_bundle: bytes = b""
    url: str = ""
    port: int = 443


class WebhookEntry(NamedTuple):
    """One webhook of a configuration: one kind, one path and one failure policy."""

    kind: Kind
    verb: str
    failure: FailurePolicy
    subresources: Mapping[Operation, tuple[str, ...]]
    """The subresources of each operation; the object itself is the empty string."""
    namespace_label: str = ""
    has_side_effects: bool = False
    """Whether a call may write, though never on dry-run."""
    validates_finalizers: bool = False
    """Whether changes of finalizers match as well."""
    changed_field: str = ""
    """Where set, only changes of this number of the spec match."""

    @property
    def is_status(self) -> bool:
        return any(STATUS in each for each in self.subresources.values())

    @property
    def name(self) -> str:
        """The name of the webhook, which API servers quote in denials: shoots.validate.fail."""
        what = (
            "delete" if "DELETE" in self.subresources else STATUS if self.is_status else self.verb
        )
        return f"{self.kind.plural}.{what}.{self.failure.lower()}.{_DOMAIN}"


def configurations(
    target: WebhookTarget, options: Options, policies: Iterable[Policy] = POLICIES
) -> list[Draft]:
    """Return both configurations for the policies that are in use with these options."""
    used = [policy for policy in policies if is_used(policy, options)]
    return [
        _configuration(
            kind, [_webhook(entry, target, options) for entry in entries(used, options, verb)]
        )
        for kind, verb in (
            ("MutatingWebhookConfiguration", _MUTATE),
            ("ValidatingWebhookConfiguration", _VALIDATE),
        )
    ]


def check(options: AdmissionOptions) -> None:
    """Raise ValueError for settings of policies that do not exist, as they would have no effect."""
    known = sorted({policy.name for policy in POLICIES})
    for name in (*options.modes, *chain(*options.exceptions.values()), *options.failures):
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}" if near else "`espalier doctor` lists them"
            raise ValueError(f"there is no policy {name}: {hint}")


def is_used(policy: Policy, options: Options) -> bool:
    """Return whether a policy is ever run; one that is off everywhere needs no webhook."""
    if options.beside_gardener and not policy.beside_gardener:
        return False
    if not features.has_policy(options.features, policy.name):
        return False
    admission = options.admission
    return any(
        admission.mode(policy.name, namespace, policy.mode) != "off"
        for namespace in ("", *admission.exceptions)
    )


def entries(policies: Iterable[Policy], options: Options, verb: str) -> Iterator[WebhookEntry]:
    """Group policies into webhooks.

    All policies for one operation on one kind share one call, so the call fails closed if one of
    them does. Deletions are a webhook of their own, since `object` is missing there. So are updates
    of a status: no validation of a spec may hold up the status reports of controllers.
    """
    failures: dict[tuple[Kind, Operation, bool], FailurePolicy] = {}
    subresources: dict[tuple[Kind, Operation, bool], dict[str, None]] = {}
    members_of: dict[tuple[Kind, bool], list[Policy]] = {}
    for policy in policies:
        if (policy.mutate if verb == _MUTATE else policy.validate) is None:
            continue
        for model, operation, sub in product(policy.models, policy.operations, policy.subresources):
            kind, is_status = kind_of_model(model), sub == STATUS
            key = (kind, operation, is_status)
            if failures.get(key) != "Fail":
                failures[key] = _failure(policy, options)
            subresources.setdefault(key, {})[sub] = None
            members_of.setdefault((kind, is_status), []).append(policy)
    grouped: dict[tuple[Kind, bool, bool, FailurePolicy], dict[Operation, tuple[str, ...]]] = {}
    for (kind, operation, is_status), failure in failures.items():
        found = grouped.setdefault((kind, operation == "DELETE", is_status, failure), {})
        found[operation] = tuple(subresources[kind, operation, is_status])
    for (kind, _, is_status, failure), operations in grouped.items():
        # If one policy needs every namespace, the others check the label themselves.
        members = members_of[kind, is_status]
        label = _common([policy.namespace_label for policy in members])
        changed_field = _common([policy.changed_field for policy in members])
        has_side_effects = any(policy.has_side_effects for policy in members)
        validates_finalizers = any(policy.validates_finalizers for policy in members)
        yield WebhookEntry(
            kind,
            verb,
            failure,
            operations,
            label,
            has_side_effects,
            validates_finalizers,
            changed_field,
        )


def _common(values: list[str]) -> str:
    """Return the value that all share; the empty string, which matches all, if they differ."""
    return values[0] if len(set(values)) == 1 else ""


def _failure(policy: Policy, options: Options) -> FailurePolicy:
    """Return the failure policy of a policy: that of the settings, or its own.

    Beside a Gardener no request of Gardener may fail because this webhook is down, so the default
    is Ignore. Policies of scheduled scaling keep theirs: workloads must scale without the webhook.

    That includes machineset.permits, though a pool may exceed its surge while the webhook is down:
    machines live in seeds, and only a garden that is a seed as well is affected.
    """
    admission = options.admission
    if policy.name in admission.failures:
        return admission.failures[policy.name]
    if policy.namespace_label == names.SCALING_NAMESPACE:
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


def _webhook(entry: WebhookEntry, target: WebhookTarget, options: Options) -> Draft:
    webhook: Draft = {
        "name": entry.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client(entry, target),
        "failurePolicy": entry.failure,
        "matchPolicy": "Equivalent",
        "rules": [*_rules(entry, options)],
        "sideEffects": "NoneOnDryRun" if entry.has_side_effects else "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if entry.namespace_label:
        webhook["namespaceSelector"] = _labelled(entry.namespace_label, options)
    elif entry.kind.namespaced:
        webhook["namespaceSelector"] = _namespaces(options)
    conditions: tuple[MatchCondition, ...] = (
        (number_changes(entry.changed_field),) if entry.changed_field else ()
    )
    if not entry.namespace_label:
        conditions = (
            *match_conditions(
                entry.subresources, options, validates_finalizers=entry.validates_finalizers
            ),
            *conditions,
        )
    webhook["matchConditions"] = [condition._asdict() for condition in conditions]
    if entry.verb == _MUTATE:
        webhook["reinvocationPolicy"] = "IfNeeded"
    return {key: value for key, value in webhook.items() if value != []}


def _client(entry: WebhookEntry, target: WebhookTarget) -> Draft:
    path = f"/{entry.verb}"
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


def _rules(entry: WebhookEntry, options: Options) -> Iterator[Draft]:
    """Yield one rule for all operations on the same resources."""
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
    """Select namespaces by label, without our own: its workloads must not depend on the webhook.

    There the controller alone applies the floors of scheduled scaling.
    """
    excluded = [_NEVER, options.namespace] if label == names.SCALING_NAMESPACE else [_NEVER]
    never = {"key": names.NAMESPACE_NAME, "operator": "NotIn", "values": excluded}
    return {"matchExpressions": [{"key": label, "operator": "Exists"}, never]}


def _namespaces(options: Options) -> Draft:
    """Exclude kube-system and our own namespace, unless we run in the garden namespace."""
    own, garden = options.namespace, options.garden_namespace
    excluded = [_NEVER]
    if own != garden and not options.beside_gardener:
        excluded.append(own)
    expression = {"key": names.NAMESPACE_NAME, "operator": "NotIn", "values": excluded}
    return {"matchExpressions": [expression]}
