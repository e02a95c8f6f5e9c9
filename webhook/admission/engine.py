"""Run the policies that match a request and combine their findings into one decision."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.admission import shape
from webhook.admission.decision import (
    Decision,
    Finding,
    Grant,
    Needs,
    PolicyOutcome,
    Request,
    Verdict,
)
from webhook.admission.finalizers import finalizers_only
from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.domain.features import ALL_FEATURES, Feature, has_policy
from webhook.domain.options import Mode
from webhook.kube import patches
from webhook.kube.meta import Object
from webhook.state.snapshot import Snapshot

SHAPE: Final = "shape"
"""The policy name for findings of type and shape, which belong to no single policy."""

_ALLOWED: Final = Decision()
_CONTROLLERS: Final = ("system:serviceaccount:", "system:kube-", "gardener.cloud:system:")
"""Prefixes of the user names of controllers, gardenlets included."""

ActivePolicies: TypeAlias = list[tuple[Policy, Mode]]


class PolicyGroup(NamedTuple):
    """The policies for one kind, operation and subresource."""

    policies: tuple[Policy, ...]
    allowed: Decision
    """The decision if the policies in their default modes have no finding."""
    default: ActivePolicies
    """The policies with their default modes."""


class PolicyTable:
    """Policies, found by kind, operation and subresource of a request."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self.policies = tuple(policies)
        self._mutators = _groups(policy for policy in self.policies if policy.mutate is not None)
        self._validators = _groups(
            policy for policy in self.policies if policy.validate is not None
        )

    def mutate(self, request: Request, snapshot: Snapshot) -> Decision | Needs | Grant:
        """Run the mutators on one draft; the patch is what they changed.

        An object that cannot be decoded is not mutated: the validators report what is wrong with
        it. If a mutator needs a Grant, that is returned with the rest of the decision.
        """
        group = _find(self._mutators, request)
        if group is None or not request.has_object or finalizers_only(request):
            return _ALLOWED
        active = _active(group, request, snapshot)
        if not active:
            return _ALLOWED
        if not shape.is_decodable(request):
            return self._unmutated(request, active)
        raw, draft = request.raw(), request.draft()
        operations: list[patches.PatchOperation] = []
        warnings: list[str] = []
        outcomes: list[PolicyOutcome] = []
        grant: Grant | None = None
        for policy, mode in active:
            edited = draft if mode == "deny" else patches.apply(raw, operations)
            result = policy.mutate(edited, request, snapshot) if policy.mutate else None
            if isinstance(result, Grant):
                if mode == "deny":
                    grant, result = replace(result, policy=policy.name), None
                else:
                    result = (f"{policy.name}: would request permits from the pool",)
            warnings.extend(result or ())
            changes = patches.diff(raw, edited)
            changed: Verdict = "mutate" if mode == "deny" else "warn"
            outcomes.append(
                PolicyOutcome(policy.name, changed if changes != operations else "allow")
            )
            # In mode warn a mutator changes nothing; the warning lists what it would set.
            if mode == "deny":
                operations = changes
            elif changes != operations:
                warnings.append(_would_set(policy, changes))
        if snapshot.live_reads:
            return Needs(tuple(snapshot.live_reads))
        decision = Decision((), tuple(warnings), tuple(operations), tuple(outcomes))
        decision = _without_unread_warnings(decision, request, snapshot)
        return decision if grant is None else replace(grant, decision=decision)

    def _unmutated(self, request: Request, active: ActivePolicies) -> Decision:
        """Allow an object that cannot be decoded if validators reject it; else reject its depth."""
        if _find(self._validators, request) is not None:
            return _ALLOWED
        exceeded = shape.exceeded_limits(request)
        return _malformed(exceeded, active) if exceeded else _ALLOWED

    def validate(self, request: Request, snapshot: Snapshot) -> Decision | Needs:
        """Run the validators and collect all their findings."""
        group = _find(self._validators, request)
        if group is None:
            return _ALLOWED
        active = _active_validators(group, request, snapshot)
        if request.has_object and active and not request.is_shape_checked:
            faults = shape.faults(request)
            if faults:
                return _without_unread_warnings(_malformed(faults, active), request, snapshot)
        findings: list[Finding] = []
        for policy, mode in active:
            if policy.validate is not None:
                for finding in policy.validate(request, snapshot):
                    findings.append(_attributed(finding, policy.name, mode))  # noqa: PERF401 -- faster
        if snapshot.live_reads:
            return Needs(tuple(snapshot.live_reads))
        if not findings and active is group.default:
            return group.allowed
        return _without_unread_warnings(_combined(findings, active), request, snapshot)


def _groups(policies: Iterable[Policy]) -> Mapping[tuple[type[Object], str, str], PolicyGroup]:
    found: dict[tuple[type[Object], str, str], list[Policy]] = {}
    for policy in policies:
        for model in policy.models:
            for operation in policy.operations:
                for subresource in policy.subresources:
                    found.setdefault((model, operation, subresource), []).append(policy)
    return {key: _group(policies) for key, policies in found.items()}


def _group(policies: list[Policy]) -> PolicyGroup:
    default: ActivePolicies = [(policy, policy.mode) for policy in policies if policy.mode != "off"]
    allowed = Decision(outcomes=tuple(PolicyOutcome(policy.name, "allow") for policy, _ in default))
    return PolicyGroup(tuple(policies), allowed, default)


def _find(
    groups: Mapping[tuple[type[Object], str, str], PolicyGroup], request: Request
) -> PolicyGroup | None:
    kind = request.kind
    if kind is None:
        return None
    return groups.get((kind.model, request.operation, request.subresource))


def _active(group: PolicyGroup, request: Request, snapshot: Snapshot) -> ActivePolicies:
    options, namespace = snapshot.options, request.key.namespace
    if options.admission.has_default_modes and not options.beside_gardener:
        return group.default
    mode_of, beside = options.admission.mode, options.beside_gardener
    return [
        (policy, mode)
        for policy in group.policies
        if (policy.beside_gardener or not beside)
        and (mode := mode_of(policy.name, namespace, policy.mode)) != "off"
    ]


def _active_validators(group: PolicyGroup, request: Request, snapshot: Snapshot) -> ActivePolicies:
    """Return the active policies; if only finalizers are removed, those that validate them."""
    active = _active(group, request, snapshot)
    if request.operation == "UPDATE" and finalizers_only(request):
        return [(policy, mode) for policy, mode in active if policy.validates_finalizers]
    return active


def _without_unread_warnings(decision: Decision, request: Request, snapshot: Snapshot) -> Decision:
    """Drop warnings that nobody would read; the findings stay, for metrics and audit."""
    if decision.warnings and _is_quiet(request, snapshot):
        return replace(decision, warnings=())
    return decision


def _is_quiet(request: Request, snapshot: Snapshot) -> bool:
    """Return whether warnings would only fill logs: those of Gardener's controllers."""
    if not snapshot.options.beside_gardener:
        return False
    return request.subresource == "status" or request.user.username.startswith(_CONTROLLERS)


def _attributed(finding: Finding, policy: str, mode: Mode) -> Finding:
    return finding._replace(policy=policy, fatal=finding.fatal and mode == "deny")


def _malformed(faults: tuple[Finding, ...], active: ActivePolicies) -> Decision:
    """Reject an object that cannot be decoded in the strictest mode of the active policies."""
    mode: Mode = "deny" if any(mode == "deny" for _, mode in active) else "warn"
    return _combined([_attributed(fault, SHAPE, mode) for fault in faults], [])


def _combined(findings: list[Finding], active: ActivePolicies) -> Decision:
    verdicts: dict[str, Verdict] = {policy.name: "allow" for policy, _ in active}
    for finding in findings:
        if verdicts.get(finding.policy) != "deny":
            verdicts[finding.policy] = "deny" if finding.fatal else "warn"
    return Decision(
        tuple(findings),
        tuple(_as_warning(finding) for finding in findings if not finding.fatal),
        (),
        tuple(PolicyOutcome(policy, verdict) for policy, verdict in verdicts.items()),
    )


def _as_warning(finding: Finding) -> str:
    where = f"{finding.field}: " if finding.field else ""
    return f"{finding.policy}: {where}{finding.message}"


def _would_set(policy: Policy, operations: Iterable[Mapping[str, Any]]) -> str:
    fields = ", ".join(operation["path"][1:].replace("/", ".") for operation in operations)
    return f"{policy.name}: would set {fields}"


TABLE: Final = PolicyTable(POLICIES)


def table_of(chosen: frozenset[Feature]) -> PolicyTable:
    """Return the policies of the chosen features; others may read kinds that are not watched."""
    if chosen == ALL_FEATURES:
        return TABLE
    return PolicyTable(policy for policy in POLICIES if has_policy(chosen, policy.name))


def decide(request: Request, snapshot: Snapshot, table: PolicyTable = TABLE) -> Decision | Needs:
    """Mutate, then validate the mutated object, as an API server would."""
    mutated = table.mutate(request, snapshot)
    if isinstance(mutated, Grant):
        # No permits are taken here: the requested number counts as granted.
        mutated = mutated.complete(mutated.size)
    if isinstance(mutated, Needs):
        return mutated
    if mutated.patch:
        request = request.with_object(
            msgspec.json.encode(patches.apply(request.raw(), mutated.patch))
        )
    validated = table.validate(request, snapshot)
    if isinstance(validated, Needs):
        return validated
    return Decision(
        validated.findings,
        mutated.warnings + validated.warnings,
        mutated.patch,
        mutated.outcomes + validated.outcomes,
    )
