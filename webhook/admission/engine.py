"""Run the policies that a request concerns and put what they say into one decision."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.admission import structure
from webhook.admission.decision import (
    TYPE_INVALID,
    UNREADABLE,
    Decision,
    Finding,
    Grant,
    Needs,
    Outcome,
    Request,
    Verdict,
)
from webhook.admission.letting_go import only_loses_finalizers
from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.api import decode, patches
from webhook.api.kinds import Kind
from webhook.api.meta import Object, Raw
from webhook.domain.options import Mode
from webhook.state.snapshot import Snapshot

SHAPE: Final = "shape"
"""The name under which faults of type and shape are reported; they belong to no one policy."""

_ALLOWED: Final = Decision()
_CONTROLLERS: Final = ("system:serviceaccount:", "system:kube-", "gardener.cloud:system:")
"""How the names of controllers begin, gardenlets included."""

Active: TypeAlias = list[tuple[Policy, Mode]]


class Row(NamedTuple):
    """The policies for one kind, operation and subresource."""

    policies: tuple[Policy, ...]
    allowed: Decision
    """What is answered if the policies in their own modes have no objection."""
    usual: Active
    """The policies with the modes of their own rows."""


class Table:
    """Policies, found by what a request is about."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self.policies = tuple(policies)
        self._mutators = _rows(policy for policy in self.policies if policy.mutate is not None)
        self._validators = _rows(policy for policy in self.policies if policy.validate is not None)

    def mutate(self, request: Request, snapshot: Snapshot) -> Decision | Needs | Grant:
        """Let the mutators edit one draft; the patch is what they changed.

        What cannot be read is left as it is: the validators say what is wrong with it. A mutator
        may ask for one thing that is exclusive; the rest of the decision then waits for it.
        """
        row = _find(self._mutators, request)
        if row is None or not request.has_object or only_loses_finalizers(request):
            return _ALLOWED
        active = _active(row, request, snapshot)
        if not active or any(_shape_faults(request)):
            return _ALLOWED
        raw, draft = request.raw(), request.draft()
        operations: list[patches.Operation] = []
        warnings: list[str] = []
        outcomes: list[Outcome] = []
        grant: Grant | None = None
        for policy, mode in active:
            edited = draft if mode == "deny" else _apply(raw, operations)
            said = policy.mutate(edited, request, snapshot) if policy.mutate else None
            if isinstance(said, Grant):
                grant = replace(said, policy=policy.name) if mode == "deny" else grant
                said = () if mode == "deny" else (f"{policy.name}: would ask the pool for room",)
            warnings.extend(said or ())
            changes = patches.diff(raw, edited)
            changed: Verdict = "mutate" if mode == "deny" else "warn"
            outcomes.append(Outcome(policy.name, changed if changes != operations else "allow"))
            if mode == "deny":
                operations = changes
            elif changes != operations:
                warnings.append(_would_set(policy, changes))
        if snapshot.questions:
            return Needs(tuple(snapshot.questions))
        decision = Decision((), tuple(warnings), tuple(operations), tuple(outcomes))
        decision = _told(decision, request, snapshot)
        return decision if grant is None else replace(grant, besides=decision)

    def validate(self, request: Request, snapshot: Snapshot) -> Decision | Needs:
        """Collect every objection of every validator."""
        row = _find(self._validators, request)
        if row is None:
            return _ALLOWED
        active = _asked(row, request, snapshot)
        if request.has_object and active and not request.is_sound:
            faults = tuple(_shape_faults(request))
            if faults:
                return _told(_misshapen(faults, active), request, snapshot)
        findings: list[Finding] = []
        for policy, mode in active:
            if policy.validate is not None:
                for finding in policy.validate(request, snapshot):
                    findings.append(_stamped(finding, policy.name, mode))  # noqa: PERF401 -- faster
        if snapshot.questions:
            return Needs(tuple(snapshot.questions))
        if not findings and active is row.usual:
            return row.allowed
        return _told(_judged(findings, active), request, snapshot)


def _rows(policies: Iterable[Policy]) -> Mapping[tuple[type[Object], str, str], Row]:
    found: dict[tuple[type[Object], str, str], list[Policy]] = {}
    for policy in policies:
        for model in policy.models:
            for operation in policy.operations:
                for subresource in policy.subresources:
                    found.setdefault((model, operation, subresource), []).append(policy)
    return {key: _row(policies) for key, policies in found.items()}


def _row(policies: list[Policy]) -> Row:
    usual: Active = [(policy, policy.mode) for policy in policies if policy.mode != "off"]
    allowed = Decision(outcomes=tuple(Outcome(policy.name, "allow") for policy, _ in usual))
    return Row(tuple(policies), allowed, usual)


def _find(rows: Mapping[tuple[type[Object], str, str], Row], request: Request) -> Row | None:
    kind = request.kind
    if kind is None:
        return None
    return rows.get((kind.model, request.operation, request.subresource))


def _active(row: Row, request: Request, snapshot: Snapshot) -> Active:
    options, namespace = snapshot.options, request.key.namespace
    if options.admission.is_usual and not options.beside_gardener:
        return row.usual
    mode_of, beside = options.admission.mode, options.beside_gardener
    return [
        (policy, mode)
        for policy in row.policies
        if (policy.beside_gardener or not beside)
        and (mode := mode_of(policy.name, namespace, policy.mode)) != "off"
    ]


def _asked(row: Row, request: Request, snapshot: Snapshot) -> Active:
    """Ask nobody about letting go of an object, but policies that are there for it."""
    active = _active(row, request, snapshot)
    if request.operation == "UPDATE" and only_loses_finalizers(request):
        return [(policy, mode) for policy, mode in active if policy.lets_go]
    return active


def _told(decision: Decision, request: Request, snapshot: Snapshot) -> Decision:
    """Leave warnings out that nobody would read; what was found is counted all the same."""
    if decision.warnings and _is_quiet(request, snapshot):
        return replace(decision, warnings=())
    return decision


def _is_quiet(request: Request, snapshot: Snapshot) -> bool:
    """Tell whether a controller writes, or a status: a warning would only fill Gardener's logs."""
    if not snapshot.options.beside_gardener:
        return False
    return request.subresource == "status" or request.user.username.startswith(_CONTROLLERS)


def _shape_faults(request: Request) -> Iterator[Finding]:
    """Say why the object cannot be read at all, field by field."""
    kind, data = request.kind, request.object_bytes
    if kind is None or data is None or request.is_sound:
        return
    odd = structure.faults(data) if structure.is_suspect(data) else ()
    if odd:
        yield from odd
        return
    try:
        request.object_as(kind.model)
    except UNREADABLE as error:
        yield from _type_faults(kind, request) or (_unreadable(error),)


def _type_faults(kind: Kind, request: Request) -> list[Finding]:
    try:
        faults = decode.faults(kind, request.raw())
    except UNREADABLE as error:
        return [_unreadable(error)]
    return [Finding(fault.path, fault.message, TYPE_INVALID) for fault in faults]


def _unreadable(error: Exception) -> Finding:
    return Finding("", f"cannot be read: {error}", TYPE_INVALID)


def _stamped(finding: Finding, policy: str, mode: Mode) -> Finding:
    return finding._replace(policy=policy, fatal=finding.fatal and mode == "deny")


def _misshapen(faults: tuple[Finding, ...], active: Active) -> Decision:
    """Refuse what cannot be read as strictly as the strictest policy that would have read it."""
    mode: Mode = "deny" if any(mode == "deny" for _, mode in active) else "warn"
    return _judged([_stamped(fault, SHAPE, mode) for fault in faults], [])


def _judged(findings: list[Finding], active: Active) -> Decision:
    verdicts: dict[str, Verdict] = {policy.name: "allow" for policy, _ in active}
    for finding in findings:
        if verdicts.get(finding.policy) != "deny":
            verdicts[finding.policy] = "deny" if finding.fatal else "warn"
    return Decision(
        tuple(findings),
        tuple(_as_warning(finding) for finding in findings if not finding.fatal),
        (),
        tuple(Outcome(policy, verdict) for policy, verdict in verdicts.items()),
    )


def _as_warning(finding: Finding) -> str:
    where = f"{finding.field}: " if finding.field else ""
    return f"{finding.policy}: {where}{finding.message}"


def _would_set(policy: Policy, operations: Iterable[Mapping[str, Any]]) -> str:
    fields = ", ".join(operation["path"][1:].replace("/", ".") for operation in operations)
    return f"{policy.name}: would set {fields}"


def _apply(raw: Raw, operations: Iterable[Mapping[str, Any]]) -> Any:
    return patches.apply(raw, operations)


TABLE: Final = Table(POLICIES)


def mutate(request: Request, snapshot: Snapshot) -> Decision | Needs | Grant:
    """Default what the request leaves open."""
    return TABLE.mutate(request, snapshot)


def validate(request: Request, snapshot: Snapshot) -> Decision | Needs:
    """Judge the request as it would be stored."""
    return TABLE.validate(request, snapshot)


def decide(request: Request, snapshot: Snapshot, table: Table = TABLE) -> Decision | Needs:
    """Do both halves at once, as an API server would: the validators judge what mutators made."""
    first = table.mutate(request, snapshot)
    if isinstance(first, Grant):
        # Nobody can take anything here: what is wished for is taken as given.
        first = first.given(first.size)
    if isinstance(first, Needs):
        return first
    if first.patch:
        request = request.with_object(msgspec.json.encode(_apply(request.raw(), first.patch)))
    second = table.validate(request, snapshot)
    if isinstance(second, Needs):
        return second
    return Decision(
        second.findings,
        first.warnings + second.warnings,
        first.patch,
        first.outcomes + second.outcomes,
    )
