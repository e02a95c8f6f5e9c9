"""CEL match conditions: they exclude requests that every policy would allow unchanged.

The expressions use only the basic syntax of CEL, since kube-apiserver, gardener-apiserver and the
embedded API server all evaluate them.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from webhook.admission.decision import Operation
from webhook.api import names
from webhook.domain.options import Options


class MatchCondition(NamedTuple):
    """A CEL expression; the API server does not call the webhook where it is false."""

    name: str
    expression: str


STATUS: Final = "status"
_NO_UPDATE: Final = 'request.operation != "UPDATE"'


def _differs(field: str) -> str:
    """Return an expression that is true if a field, which may be absent, changes."""
    new, old = f"object.{field}", f"oldObject.{field}"
    return f"(has({new}) != has({old}) || (has({new}) && {new} != {old}))"


def _own_annotations_differ() -> str:
    """Return an expression that is true if an annotation of ours is added, removed or changed."""
    return " || ".join(
        f"(has({one}.annotations) && {one}.annotations.exists(key, "
        f'key.startsWith("{names.PREFIX}") && (!has({other}.annotations) || '
        f"!(key in {other}.annotations) || {other}.annotations[key] != {one}.annotations[key])))"
        for one, other in (
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
"""Changes of status, finalizers or managed fields alone are always allowed."""

CHANGES_OR_FINALIZERS: Final = MatchCondition(
    "changes-spec-labels-annotations-or-finalizers",
    " || ".join((_NO_UPDATE, _SPEC, *_METADATA, _differs("metadata.finalizers"))),
)
"""For kinds with a policy that validates finalizers."""

CHANGES_STATUS: Final = MatchCondition("changes-status", _differs("status"))

CHANGES_OWN: Final = MatchCondition(
    "changes-spec-or-our-annotations",
    " || ".join((_NO_UPDATE, _SPEC, _own_annotations_differ())),
)
"""Beside a Gardener, labels and annotations of its controllers are ignored as well."""


OWN_BINDINGS: Final = MatchCondition(
    "binds-our-shoots-only",
    '!has(request.subResource) || request.subResource != "binding" || '
    "(has(object.spec.schedulerName) && "
    f'object.spec.schedulerName == "{names.SCHEDULER_NAME}")',
)
"""Beside a Gardener, bindings of its own scheduler must not depend on this webhook."""


def match_conditions(
    subresources: Mapping[Operation, Collection[str]],
    options: Options,
    *,
    validates_finalizers: bool = False,
) -> Iterator[MatchCondition]:
    """Yield the conditions of a webhook; creations and deletions always match.

    `subresources` lists the subresources of each operation; `validates_finalizers` is set if a
    policy of the webhook validates finalizers.
    """
    updated = subresources.get("UPDATE", ())
    if STATUS in updated:
        yield CHANGES_STATUS
    elif updated and options.beside_gardener:
        yield CHANGES_OWN
    elif updated:
        yield CHANGES_OR_FINALIZERS if validates_finalizers else CHANGES
    bindings = any("binding" in each for each in subresources.values())
    if options.beside_gardener and bindings:
        yield OWN_BINDINGS


def number_changes(name: str) -> MatchCondition:
    """Return a condition that is true if a number of the spec changes; absent counts as 0."""
    new, old = _number("object", name), _number("oldObject", name)
    created = f'(request.operation == "CREATE" && {new} != 0)'
    updated = f'(request.operation == "UPDATE" && {new} != {old})'
    return MatchCondition(f"changes-{name}", f"{created} || {updated}")


def _number(of: str, name: str) -> str:
    return f"(has({of}.spec) && has({of}.spec.{name}) ? {of}.spec.{name} : 0)"
