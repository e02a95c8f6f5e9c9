"""CEL conditions that spare us calls: requests that every policy would allow untouched.

Only what CEL has had from the start is used, no optional syntax: each of them is evaluated by
kube-apiserver, by gardener-apiserver and by the embedded server.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from webhook.admission.decision import Operation
from webhook.api import names
from webhook.domain.options import Options


class MatchCondition(NamedTuple):
    """An expression; the API server does not call us where it is false."""

    name: str
    expression: str


STATUS: Final = "status"
_NO_UPDATE: Final = 'request.operation != "UPDATE"'


def _differs(field: str) -> str:
    """Compare what may be absent."""
    new, old = f"object.{field}", f"oldObject.{field}"
    return f"(has({new}) != has({old}) || (has({new}) && {new} != {old}))"


def _ours_differ() -> str:
    """Compare our own annotations, each way."""
    return " || ".join(
        f"(has({mine}.annotations) && {mine}.annotations.exists(key, "
        f'key.startsWith("{names.PREFIX}") && (!has({other}.annotations) || '
        f"!(key in {other}.annotations) || {other}.annotations[key] != {mine}.annotations[key])))"
        for mine, other in (
            ("object.metadata", "oldObject.metadata"),
            ("oldObject.metadata", "object.metadata"),
        )
    )


_SPEC: Final = _differs("spec")
_METADATA: Final = (_differs("metadata.labels"), _differs("metadata.annotations"))

CHANGES: Final = MatchCondition(
    "changes-spec-labels-or-annotations",
    " || ".join((_NO_UPDATE, _SPEC, *_METADATA)),
)
"""Status, finalizers and bookkeeping are not judged: letting go of an object always passes."""

CHANGES_OR_LETS_GO: Final = MatchCondition(
    "changes-spec-labels-annotations-or-finalizers",
    " || ".join((_NO_UPDATE, _SPEC, *_METADATA, _differs("metadata.finalizers"))),
)
"""Where operators want finalizers to be judged, too."""

CHANGES_STATUS: Final = MatchCondition("changes-status", _differs("status"))

CHANGES_OURS: Final = MatchCondition(
    "changes-spec-or-our-annotations",
    " || ".join((_NO_UPDATE, _SPEC, _ours_differ())),
)
"""Beside a Gardener its controllers' labels and annotations are no concern of ours, either."""


OUR_BINDINGS: Final = MatchCondition(
    "binds-our-shoots-only",
    '!has(request.subResource) || request.subResource != "binding" || '
    "(has(object.spec.schedulerName) && "
    f'object.spec.schedulerName == "{names.SCHEDULER_NAME}")',
)
"""Beside a Gardener, what its own scheduler binds must never wait for us."""


def conditions(
    subresources: Mapping[Operation, Collection[str]], options: Options, *, lets_go: bool = False
) -> Iterator[MatchCondition]:
    """List the conditions for a call; whatever is created or deleted is judged.

    `subresources` says for each operation on what it is asked for, `lets_go` whether a policy
    judges finalizers.
    """
    asked = subresources.get("UPDATE", ())
    if STATUS in asked:
        yield CHANGES_STATUS
    elif asked and options.beside_gardener:
        yield CHANGES_OURS
    elif asked:
        yield CHANGES_OR_LETS_GO if lets_go else CHANGES
    bindings = any("binding" in asked for asked in subresources.values())
    if options.beside_gardener and bindings:
        yield OUR_BINDINGS


def number_changes(name: str) -> MatchCondition:
    """Ask only where a number of the spec changes; what is absent counts as 0."""
    new, old = _number("object", name), _number("oldObject", name)
    created = f'(request.operation == "CREATE" && {new} != 0)'
    updated = f'(request.operation == "UPDATE" && {new} != {old})'
    return MatchCondition(f"changes-{name}", f"{created} || {updated}")


def _number(of: str, name: str) -> str:
    return f"(has({of}.spec) && has({of}.spec.{name}) ? {of}.spec.{name} : 0)"
