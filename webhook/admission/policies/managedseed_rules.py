"""managedseed.rules: a ManagedSeed agrees with itself and with the Shoot that it registers."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import (
    in_use,
    operations,
    seed_on_shoot,
    seed_template,
    templates,
)
from webhook.admission.rules.seed_spec import Manner
from webhook.api import identifiers
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import ObjectKey
from webhook.api.seeds import SeedTemplate
from webhook.api.shoots import Shoot
from webhook.domain import zones
from webhook.state.indexes import MANAGED_SEEDS_BY_SHOOT
from webhook.state.snapshot import Snapshot

_OPERATIONS: Final = ("reconcile", "renew-kubeconfig")


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Judge the object, the Shoot it names, and the seed it would make of it."""
    managed_seed, old = request.object_as(ManagedSeed), request.old_as(ManagedSeed)
    options = snapshot.options.admission
    yield from _identity(request, options.garden_namespace)
    yield from operations.judge(managed_seed.metadata, old.metadata if old else None, _OPERATIONS)
    manner = Manner(is_template=True, is_strict=options.strict_seeds)
    yield from seed_template.judge(managed_seed.spec, "spec", manner)
    if managed_seed.spec.seed_template is not None:
        yield from templates.misplaced(request.raw().get("spec"))
    if old is not None:
        yield from _change(old, managed_seed, snapshot)
    reference = managed_seed.spec.shoot
    if reference is None:
        yield Finding.required("spec.shoot", "name the shoot that becomes a seed")
    elif not reference.name:
        yield Finding.required("spec.shoot.name", "name the shoot that becomes a seed")
    else:
        key = ObjectKey(request.key.namespace, reference.name)
        yield from _on_shoot(managed_seed, old, key, snapshot)


def _identity(request: Request, garden: str) -> Iterator[Finding]:
    key = request.key
    if key.namespace != garden:
        yield Finding.invalid(
            "metadata.namespace", key.namespace, f"managed seeds live in namespace {garden}"
        )
    if request.operation == "CREATE":
        for error in identifiers.dns1123_label_errors(key.name):
            yield Finding.invalid("metadata.name", key.name, error)


def _change(old: ManagedSeed, new: ManagedSeed, snapshot: Snapshot) -> Iterator[Finding]:
    if old.spec.shoot is not None and old.spec.shoot != new.spec.shoot:
        name = new.spec.shoot.name if new.spec.shoot is not None else ""
        yield Finding.immutable("spec.shoot", name)
    yield from seed_template.judge_change(old.spec, new.spec, "spec")
    before, after = old.seed_template, new.seed_template
    if before is not None and after is not None:
        base = f"{templates.path_of(new.spec)}.spec"
        yield from in_use.zones(
            before.spec.provider.zones,
            after.spec.provider.zones,
            new.name,
            f"{base}.provider.zones",
            snapshot,
        )
        yield from in_use.domains(
            before.spec.dns, after.spec.dns, new.name, f"{base}.dns", snapshot
        )


def _on_shoot(
    managed_seed: ManagedSeed, old: ManagedSeed | None, key: ObjectKey, snapshot: Snapshot
) -> Iterator[Finding]:
    shoot = snapshot.look_up(Shoot, key)
    if shoot is None:
        yield Finding.invalid(
            "spec.shoot.name", key.name, f"there is no shoot {key}, create it first"
        )
        return
    yield from seed_on_shoot.judge_shoot(shoot)
    for other in snapshot.by_index(MANAGED_SEEDS_BY_SHOOT, str(key)):
        if other.name != managed_seed.name:
            yield Finding.invalid(
                "spec.shoot.name", key.name, f"is already registered by ManagedSeed {other.key}"
            )
    template = managed_seed.seed_template
    if template is not None:
        before = old.seed_template if old is not None else None
        yield from _seed(template, before, shoot, templates.path_of(managed_seed.spec))


def _seed(
    template: SeedTemplate, before: SeedTemplate | None, shoot: Shoot, path: str
) -> Iterator[Finding]:
    yield from seed_on_shoot.judge(template.spec, shoot, f"{path}.spec")
    added = set(template.spec.provider.zones)
    if before is not None:
        added -= set(before.spec.provider.zones)
    yield from seed_on_shoot.judge_zones(added, shoot, f"{path}.spec.provider.zones")
    if before is None or before != template:
        yield from seed_on_shoot.weak_pools(shoot, zones.is_multi_zonal(template))
