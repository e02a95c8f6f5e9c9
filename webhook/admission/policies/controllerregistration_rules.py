"""controllerregistration.rules: each kind and type of extension has one controller."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.api.registrations import ControllerRegistration
from webhook.state.indexes import REGISTRATIONS_BY_KIND
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Refuse a combination that is taken, in this object or in another."""
    registration = request.object_as(ControllerRegistration)
    seen: set[tuple[str, str]] = set()
    for index, resource in enumerate(registration.spec.resources):
        field, pair = f"spec.resources[{index}]", (resource.kind, resource.type)
        for value, name in ((resource.kind, "kind"), (resource.type, "type")):
            if not value:
                yield Finding.required(f"{field}.{name}", f"name the {name} of extension objects")
        if pair in seen:
            yield Finding.duplicate(field, "/".join(pair), "name each combination once")
        elif resource.primary is not False:
            yield from _taken(pair, field, request.key.name, snapshot)
        seen.add(pair)


def _taken(pair: tuple[str, str], field: str, own: str, snapshot: Snapshot) -> Iterator[Finding]:
    combination = "/".join(pair)
    for other in snapshot.by_index(REGISTRATIONS_BY_KIND, combination):
        if other.name != own:
            yield Finding.duplicate(
                field,
                combination,
                f"is already registered by ControllerRegistration {other.name}",
            )
