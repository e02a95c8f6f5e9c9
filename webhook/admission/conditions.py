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


_NO_UPDATE: Final = 'request.operation != "UPDATE"'
_SPEC: Final = (
    "(has(object.spec) != has(oldObject.spec) || "
    "(has(object.spec) && object.spec != oldObject.spec))"
)


def _maps_differ(field: str) -> str:
    """Compare two maps that may be absent."""
    new, old = f"object.metadata.{field}", f"oldObject.metadata.{field}"
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


CHANGES: Final = MatchCondition(
    "changes-spec-labels-or-annotations",
    " || ".join((_NO_UPDATE, _SPEC, _maps_differ("labels"), _maps_differ("annotations"))),
)
"""Status, finalizers and bookkeeping are not judged: letting go of an object always passes."""

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
    subresources: Mapping[Operation, Collection[str]], options: Options
) -> Iterator[MatchCondition]:
    """List the conditions for a call; whatever is created or deleted is judged.

    `subresources` says for each operation on what it is asked for.
    """
    if "UPDATE" in subresources:
        yield CHANGES_OURS if options.beside_gardener else CHANGES
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
