"""shoot.placement: who may choose a seed, and whether the seed can take the shoot."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import placement, seed_wishes
from webhook.api import names
from webhook.api.meta import ObjectKey
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import ha, zones
from webhook.state.indexes import PROJECTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

_FIELD: Final = "spec.seedName"


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Judge a request that sets or changes the seed; say so if a wish will move the shoot."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    before = old.spec.seed_name if old is not None else ""
    if snapshot.options.beside_gardener:
        return _judge_binding(request, shoot, before, snapshot)
    if seed_wishes.is_changed(shoot.spec, old.spec if old is not None else None):
        wishes = _wishes(request, shoot, old, snapshot)
        return (*wishes, *_choice(request, shoot, old, snapshot))
    return _choice(request, shoot, old, snapshot)


def _wishes(
    request: Request, shoot: Shoot, old: Shoot | None, snapshot: Snapshot
) -> Iterator[Finding]:
    """Judge what the shoot says about seeds, also against the one that it has."""
    spec, before = shoot.spec, old.spec if old is not None else None
    yield from seed_wishes.judge(spec)
    if snapshot.watches(Project):
        projects = snapshot.by_index(PROJECTS_BY_NAMESPACE, request.key.namespace)
        yield from seed_wishes.judge_project(spec, before, projects)
    name = spec.seed_name
    seed = snapshot.look_up(Seed, ObjectKey("", name)) if name else None
    if seed is not None:
        yield from seed_wishes.judge_seed(spec, before, seed)


def _choice(
    request: Request, shoot: Shoot, old: Shoot | None, snapshot: Snapshot
) -> Iterable[Finding]:
    before = old.spec.seed_name if old is not None else ""
    if before != shoot.spec.seed_name:
        return _judge(request, shoot, before, snapshot)
    if old is not None and before and ha.is_mentioned(shoot):
        return _will_move(old, shoot, snapshot)
    return ()


def _judge(request: Request, shoot: Shoot, before: str, snapshot: Snapshot) -> Iterator[Finding]:
    after = shoot.spec.seed_name
    if not after:
        yield Finding.denied(
            f"a shoot cannot lose its seed, set {before} or the seed it is to move to", _FIELD
        )
        return
    # Whatever may be missing is asked for before anything is refused: there is one second round.
    may_bind = bool(request.subresource) or _may_bind(request, snapshot)
    seed = snapshot.look_up(Seed, ObjectKey("", after))
    if not may_bind:
        yield Finding.denied(
            f"{request.user.username} may not choose seeds: that takes the right to update "
            "shoots/binding in this namespace",
            _FIELD,
        )
    elif seed is None:
        yield Finding.invalid(_FIELD, after, "there is no such seed")
    if seed is not None:
        refused = [*placement.judge(shoot, seed, request.key, snapshot)]
        yield from refused if may_bind else ()


def _judge_binding(
    request: Request, shoot: Shoot, before: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Add to a Gardener's own checks what the documents ask of seeds for our shoots."""
    ours = shoot.spec.scheduler_name == names.SCHEDULER_NAME
    if request.subresource != "binding" or not ours or shoot.spec.seed_name in ("", before):
        return
    seed = snapshot.look_up(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is not None:
        yield from placement.judge_zones(shoot, seed, snapshot.options)


def _may_bind(request: Request, snapshot: Snapshot) -> bool:
    return snapshot.may(
        request.user,
        "update",
        "core.gardener.cloud",
        "shoots",
        subresource="binding",
        namespace=request.key.namespace,
        name=request.key.name,
    )


def _will_move(old: Shoot, new: Shoot, snapshot: Snapshot) -> Iterator[Finding]:
    """Document 003, case 2: the scheduler moves a shoot whose seed does not suffice any more."""
    if ha.wanted(new).type != ha.MULTI_ZONE or ha.wanted(old).type == ha.MULTI_ZONE:
        return
    seed = snapshot.get(Seed, ObjectKey("", new.spec.seed_name))
    if seed is not None and not zones.is_multi_zonal(seed):
        yield Finding.warning(
            _FIELD,
            f"seed {seed.name} is not multi-zonal, so the scheduler will move the control plane "
            "to one that is",
        )
