"""shoot.placement: who may set spec.seedName, and whether the seed fits the shoot."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import label_selector, seed_fit
from webhook.api import names
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot, ShootSpec, Toleration
from webhook.domain.placement import seed_selector
from webhook.domain.seeds import zones
from webhook.domain.shoots import ha
from webhook.kube import identifiers
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import PROJECTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

_FIELD: Final = "spec.seedName"


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Validate the seed and the fields that select seeds; warn if the shoot will be moved."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    before = old.spec.seed_name if old is not None else ""
    if snapshot.options.beside_gardener:
        return _validate_binding(request, shoot, before, snapshot)
    if _are_seed_fields_changed(shoot.spec, old.spec if old is not None else None):
        found = _seed_fields(request, shoot, old, snapshot)
        return (*found, *_seed_name(request, shoot, old, snapshot))
    return _seed_name(request, shoot, old, snapshot)


def _seed_fields(
    request: Request, shoot: Shoot, old: Shoot | None, snapshot: Snapshot
) -> Iterator[Finding]:
    """Validate tolerations, access restrictions and seedSelector, also against the seed."""
    spec, before = shoot.spec, old.spec if old is not None else None
    yield from _validate_seed_fields(spec)
    if snapshot.watches(Project):
        projects = snapshot.by_index(PROJECTS_BY_NAMESPACE, request.key.namespace)
        yield from _validate_project(spec, before, projects)
    name = spec.seed_name
    seed = snapshot.look_up(Seed, ObjectKey("", name)) if name else None
    if seed is not None:
        yield from _validate_assigned_seed(spec, before, seed)


def _seed_name(
    request: Request, shoot: Shoot, old: Shoot | None, snapshot: Snapshot
) -> Iterable[Finding]:
    before = old.spec.seed_name if old is not None else ""
    if before != shoot.spec.seed_name:
        return _validate_choice(request, shoot, before, snapshot)
    if old is not None and before and ha.is_mentioned(shoot):
        return _will_move(old, shoot, snapshot)
    return ()


def _validate_choice(
    request: Request, shoot: Shoot, before: str, snapshot: Snapshot
) -> Iterator[Finding]:
    after = shoot.spec.seed_name
    if not after:
        yield Finding.denied(
            f"cannot be removed, set {before} or the seed to move the shoot to", _FIELD
        )
        return
    # All reads that may be needed come before the first finding, so that one round of live reads
    # suffices.
    may_bind = bool(request.subresource) or _may_bind(request, snapshot)
    seed = snapshot.look_up(Seed, ObjectKey("", after))
    if not may_bind:
        yield Finding.denied(
            f"{request.user.username} may not choose seeds: that takes the right to update "
            "shoots/binding in this namespace",
            _FIELD,
        )
    elif seed is None:
        yield Finding.invalid(_FIELD, after, "there is no such seed, choose another")
    if seed is not None:
        refused = [*seed_fit.validate(shoot, seed, request.key, snapshot)]
        yield from refused if may_bind else ()


def _validate_binding(
    request: Request, shoot: Shoot, before: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Validate the zones of the seed for our own shoots; Gardener does the other checks."""
    ours = shoot.spec.scheduler_name == names.SCHEDULER_NAME
    if request.subresource != "binding" or not ours or shoot.spec.seed_name in ("", before):
        return
    seed = snapshot.look_up(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is not None:
        yield from seed_fit.validate_zones(shoot, seed, snapshot.options)


def _may_bind(request: Request, snapshot: Snapshot) -> bool:
    return snapshot.is_allowed(
        request.user,
        "update",
        "core.gardener.cloud",
        "shoots",
        subresource="binding",
        namespace=request.key.namespace,
        name=request.key.name,
    )


def _will_move(old: Shoot, new: Shoot, snapshot: Snapshot) -> Iterator[Finding]:
    """Warn if the scheduler will move the shoot to a multi-zonal seed (document 003, case 2)."""
    if ha.requested(new).type != ha.MULTI_ZONE or ha.requested(old).type == ha.MULTI_ZONE:
        return
    seed = snapshot.get(Seed, ObjectKey("", new.spec.seed_name))
    if seed is not None and not zones.is_multi_zonal(seed):
        yield Finding.warning(
            _FIELD,
            f"seed {seed.name} is not multi-zonal, so the scheduler will move the control plane "
            "to one that is",
        )


def _are_seed_fields_changed(new: ShootSpec, old: ShootSpec | None) -> bool:
    """Return whether fields that select seeds have changed; most shoots have none."""
    if old is None:
        return bool(new.tolerations) or new.seed_selector is not None
    return (
        new.tolerations != old.tolerations
        or new.seed_selector != old.seed_selector
        or new.access_restrictions != old.access_restrictions
    )


def _validate_seed_fields(spec: ShootSpec) -> Iterator[Finding]:
    """Reject malformed tolerations and selectors."""
    seen: set[tuple[str, str | None]] = set()
    for index, toleration in enumerate(spec.tolerations):
        field = f"spec.tolerations[{index}]"
        if not toleration.key:
            yield Finding.required(f"{field}.key", "name the key of the taint")
        else:
            for error in identifiers.label_key_errors(toleration.key):
                yield Finding.invalid(f"{field}.key", toleration.key, error)
        pair = (toleration.key, toleration.value)
        if pair in seen:
            yield Finding.duplicate(field, toleration.key, "name each toleration once")
        seen.add(pair)
    if spec.seed_selector is not None:
        yield from label_selector.validate(spec.seed_selector, "spec.seedSelector")


def _validate_project(
    spec: ShootSpec, old: ShootSpec | None, projects: Iterable[Project]
) -> Iterator[Finding]:
    """Reject new tolerations beyond those that a project lists, where it lists any."""
    known = old.tolerations if old is not None else ()
    for project in projects:
        listed = project.spec.tolerations.whitelist if project.spec.tolerations is not None else ()
        for index, toleration in enumerate(spec.tolerations):
            # Shoots of the garden have this toleration by default.
            is_free = not listed or toleration in known or toleration.key == names.SEED_PROTECTED
            if not is_free and not any(_allows(each, toleration) for each in listed):
                allowed = ", ".join(each.key for each in listed)
                yield Finding.forbidden(
                    f"spec.tolerations[{index}]",
                    f"project {project.name} allows only tolerations of {allowed}, remove it",
                )


def _allows(listed: Toleration, wanted: Toleration) -> bool:
    return listed.key == wanted.key and listed.value in (None, wanted.value)


def _validate_assigned_seed(new: ShootSpec, old: ShootSpec | None, seed: Seed) -> Iterator[Finding]:
    """Reject access restrictions and selectors that the seed of the shoot does not meet."""
    if old is not None and old.seed_name == new.seed_name:
        yield from _restrictions(new, old, seed)
    yield from _selector(new, old, seed)


def _restrictions(new: ShootSpec, old: ShootSpec, seed: Seed) -> Iterator[Finding]:
    supported = {each.name for each in (*seed.spec.access_restrictions, *old.access_restrictions)}
    for index, restriction in enumerate(new.access_restrictions):
        if restriction.name not in supported:
            yield Finding.forbidden(
                f"spec.accessRestrictions[{index}]",
                f"seed {seed.name}, which the shoot is on, does not support it",
            )


def _selector(new: ShootSpec, old: ShootSpec | None, seed: Seed) -> Iterator[Finding]:
    selector = new.seed_selector
    before = old.seed_selector if old is not None else None
    if selector == before:
        return
    if selector is None:
        yield Finding.invalid(
            "spec.seedSelector", None, f"cannot be removed while the shoot is on seed {seed.name}"
        )
        return
    if not seed_selector.label_selector(selector).matches(seed.metadata.labels):
        yield Finding.invalid(
            "spec.seedSelector",
            dict(selector.match_labels),
            f"must select seed {seed.name}, which the shoot is on",
        )
    provider = seed.spec.provider.type
    if selector.provider_types and provider not in selector.provider_types:
        yield Finding.invalid(
            "spec.seedSelector.providerTypes",
            list(selector.provider_types),
            f"must contain {provider}, which seed {seed.name} runs on",
        )
