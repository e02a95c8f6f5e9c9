"""controllerregistration.rules: each kind and type of extension has one primary controller."""

from collections import Counter
from collections.abc import Collection, Iterator

from webhook.admission.decision import Finding, Request
from webhook.api.registrations import ControllerRegistration, RegisteredResource
from webhook.state.indexes import REGISTRATIONS_BY_KIND
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a combination of kind and type that is already registered, here or elsewhere.

    For a combination that is stored unchanged this is a warning: Gardener has admitted it.

    As in Gardener, controllers that are not primary may share a combination with other
    registrations.
    """
    registration = request.object_as(ControllerRegistration)
    old = request.old_as(ControllerRegistration)
    stored = Counter(map(_claim, old.spec.resources if old is not None else ()))
    seen: set[tuple[str, str]] = set()
    for index, resource in enumerate(registration.spec.resources):
        claim = _claim(resource)
        found = _validate(resource, f"spec.resources[{index}]", seen, request.key.name, snapshot)
        yield from (each.as_warning() for each in found) if stored[claim] > 0 else found
        stored[claim] -= 1
        seen.add((resource.kind, resource.type))


def _claim(resource: RegisteredResource) -> tuple[str, str, bool]:
    return resource.kind, resource.type, resource.primary is not False


def _validate(
    resource: RegisteredResource,
    field: str,
    seen: Collection[tuple[str, str]],
    own: str,
    snapshot: Snapshot,
) -> Iterator[Finding]:
    pair = (resource.kind, resource.type)
    for value, name in ((resource.kind, "kind"), (resource.type, "type")):
        if not value:
            yield Finding.required(f"{field}.{name}", f"name the {name} of extension objects")
    if pair in seen:
        yield Finding.duplicate(field, "/".join(pair), "name each combination once")
    elif resource.primary is not False:
        yield from _registered_elsewhere(pair, field, own, snapshot)


def _registered_elsewhere(
    pair: tuple[str, str], field: str, own: str, snapshot: Snapshot
) -> Iterator[Finding]:
    combination = "/".join(pair)
    for other in snapshot.by_index(REGISTRATIONS_BY_KIND, combination):
        if other.name != own:
            yield Finding.duplicate(
                field,
                combination,
                f"is already registered by ControllerRegistration {other.name}",
            )
