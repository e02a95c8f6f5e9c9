"""seed.zones: which seeds may be labelled multi-zonal; multi-zonal seeds stay multi-zonal."""

from collections.abc import Iterator

from webhook.admission import drafts
from webhook.admission.decision import Finding, Request
from webhook.admission.rules import hosted_shoots, managed_seeds, multi_zonal, seed_template
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.domain.seeds import zones
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Label a managed seed whose Shoot has three zones or more, unless it is labelled."""
    seed = request.object_as(Seed)
    options = snapshot.options
    # A gardenlet overwrites the labels of its Seed at each start, so both would keep writing.
    if options.beside_gardener or not options.admission.label_multi_zonal:
        return
    if names.MULTI_ZONAL in seed.metadata.labels:
        return
    shoot = managed_seeds.shoot_of_seed(request.key.name, snapshot)
    if shoot is not None and len(zones.shoot_zones(shoot)) >= zones.MIN_ZONES:
        drafts.section(draft, "metadata", "labels")[names.MULTI_ZONAL] = "true"


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the label against the Shoot of the seed, and zones against the hosted shoots."""
    seed, old = request.object_as(Seed), request.old_as(Seed)
    if seed.metadata.labels.get(names.MULTI_ZONAL) == "true":
        shoot = managed_seeds.shoot_of_seed(request.key.name, snapshot)
        if shoot is not None:
            yield from multi_zonal.validate(seed, shoot, "", old)
    if old is not None:
        yield from multi_zonal.validate_update(old, seed, "")
        yield from hosted_shoots.validate_zones(
            old.spec.provider.zones,
            seed.spec.provider.zones,
            request.key.name,
            "spec.provider.zones",
            snapshot,
        )


def validate_template(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the Seed template of a ManagedSeed by the same rules."""
    managed_seed, old = request.object_as(ManagedSeed), request.old_as(ManagedSeed)
    template = managed_seed.seed_template
    if template is None:
        return
    base = f"{seed_template.path_of(managed_seed.spec)}."
    before = old.seed_template if old is not None else None
    if template.metadata.labels.get(names.MULTI_ZONAL) == "true":
        shoot = managed_seeds.shoot_of(managed_seed, snapshot)
        if shoot is not None:
            same = old is not None and old.spec.shoot == managed_seed.spec.shoot
            yield from multi_zonal.validate(template, shoot, base, before if same else None)
    if before is not None:
        yield from multi_zonal.validate_update(before, template, base)
