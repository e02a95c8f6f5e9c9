"""Requests for tests of policies, and what a policy answers to them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from webhook.admission.decision import Decision, Needs, Operation, Request, UserInfo
from webhook.admission.engine import PolicyTable
from webhook.admission.table import POLICIES
from webhook.api import decode, kinds
from webhook.domain.options import Options
from webhook.kube import patches
from webhook.kube.meta import Object, ObjectKey
from webhook.state.live_reads import AccessReview, LiveList, LiveRead, LiveResult, LiveResults
from webhook.state.snapshot import Snapshot

JANE = UserInfo(username="jane")
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def make_request(
    new: Mapping[str, Any] | None = None,
    old: Mapping[str, Any] | None = None,
    *,
    operation: Operation | None = None,
    subresource: str = "",
    user: UserInfo = JANE,
    dry_run: bool = False,
) -> Request:
    """Return the request that an API server sends for a change from `old` to `new`."""
    shown = new if new is not None else old
    assert shown is not None
    metadata = shown.get("metadata") or {}
    kind = kinds.find_kind(shown["apiVersion"], shown["kind"])
    assert kind is not None, shown["kind"]
    if operation is None:
        operation = "DELETE" if new is None else "CREATE" if old is None else "UPDATE"
    return Request(
        uid="0123",
        kind=kind,
        operation=operation,
        key=ObjectKey(metadata.get("namespace", ""), metadata.get("name", "")),
        subresource=subresource,
        user=user,
        dry_run=dry_run,
        new=None if new is None else msgspec.json.encode(new),
        old=None if old is None else msgspec.json.encode(old),
    )


def read(raw: Mapping[str, Any]) -> Object:
    """Decode an object as the cache does."""
    kind = kinds.find_kind(raw["apiVersion"], raw["kind"])
    assert kind is not None, raw["kind"]
    return decode.convert(kind.model, raw)


class ValidationResult(NamedTuple):
    """What a policy reports: refused fields with the reason, and warnings by field."""

    refused: set[tuple[str, str]]
    warned: set[str]
    messages: tuple[str, ...]

    @property
    def fields(self) -> set[str]:
        return {field for field, _ in self.refused}


def validate(
    policy: str,
    new: Mapping[str, Any] | None = None,
    old: Mapping[str, Any] | None = None,
    *,
    around: Iterable[Mapping[str, Any]] = (),
    options: Options | None = None,
    allowed: bool = False,
    subresource: str = "",
) -> ValidationResult:
    """Validate a change with one policy; `allowed` answers every access review."""
    request = make_request(new, old, subresource=subresource)
    decision = decide("validate", policy, request, around, options, allowed)
    return ValidationResult(
        {(found.field, found.reason) for found in decision.findings if found.fatal},
        {found.field for found in decision.findings if not found.fatal},
        tuple(found.message for found in decision.findings),
    )


def mutate(
    policy: str,
    new: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    *,
    around: Iterable[Mapping[str, Any]] = (),
    options: Options | None = None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Mutate an object with one policy; return the object afterwards and the warnings."""
    decision = decide("mutate", policy, make_request(new, old), around, options)
    result: dict[str, Any] = patches.apply(new, decision.patch)
    return result, decision.warnings


def decide(
    half: str,
    policy: str,
    request: Request,
    around: Iterable[Mapping[str, Any]] = (),
    options: Options | None = None,
    allowed: bool = False,
    *,
    at: datetime = NOW,
) -> Decision:
    """Decide with live reads, as the server does: what a round lacks is absent in the next."""
    table = PolicyTable(row for row in POLICIES if row.name == policy)
    assert table.policies, policy
    objects = [read(raw) for raw in around]
    answers: LiveResults = {}
    while True:
        snapshot = Snapshot.of(objects, taken_at=at, options=options, live_results=answers)
        decision: Decision | Needs = getattr(table, half)(request, snapshot)
        if isinstance(decision, Decision):
            return decision
        assert not answers.keys() & set(decision.live_reads), "nothing is asked twice"
        found = {each: _answer(each, objects, allowed) for each in decision.live_reads}
        answers = {**answers, **found}


def _answer(question: LiveRead, objects: Iterable[Object], allowed: bool) -> LiveResult:
    if isinstance(question, LiveList):
        return tuple(filter(question.matches, objects))
    return allowed if isinstance(question, AccessReview) else None
