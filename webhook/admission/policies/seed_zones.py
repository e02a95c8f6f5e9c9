"""seed.zones: which seeds may call themselves multi-zonal, and that there is no way back."""

from collections.abc import Iterator

from webhook.admission import drafts
from webhook.admission.decision import Finding, Request
from webhook.admission.rules import in_use, managed, multi_zonal, templates
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft
from webhook.api.seeds import Seed
from webhook.domain import zones
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Label a managed seed whose Shoot has three zones or more, unless it is labelled."""
    seed = request.object_as(Seed)
    options = snapshot.options
    # A gardenlet writes its Seed's labels anew at each start: beside one we would only quarrel.
    if options.beside_gardener or not options.admission.label_multi_zonal:
        return
    if names.MULTI_ZONAL in seed.metadata.labels:
        return
    shoot = managed.shoot_of_seed(request.key.name, snapshot)
    if shoot is not None and len(zones.shoot_zones(shoot)) >= zones.FEWEST:
        drafts.section(draft, "metadata", "labels")[names.MULTI_ZONAL] = "true"


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Judge the label of a seed against the Shoot it stands on, and zones against its shoots."""
    seed, old = request.object_as(Seed), request.old_as(Seed)
    if seed.metadata.labels.get(names.MULTI_ZONAL) == "true":
        shoot = managed.shoot_of_seed(request.key.name, snapshot)
        if shoot is not None:
            yield from multi_zonal.judge(seed, shoot, "", old)
    if old is not None:
        yield from multi_zonal.judge_change(old, seed, "")
        yield from in_use.zones(
            old.spec.provider.zones,
            seed.spec.provider.zones,
            request.key.name,
            "spec.provider.zones",
            snapshot,
        )


def validate_template(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Hold the Seed template of a ManagedSeed to the same rules."""
    managed_seed, old = request.object_as(ManagedSeed), request.old_as(ManagedSeed)
    template = managed_seed.seed_template
    if template is None:
        return
    base = f"{templates.path_of(managed_seed.spec)}."
    before = old.seed_template if old is not None else None
    if template.metadata.labels.get(names.MULTI_ZONAL) == "true":
        shoot = managed.shoot_of(managed_seed, snapshot)
        if shoot is not None:
            same = old is not None and old.spec.shoot == managed_seed.spec.shoot
            yield from multi_zonal.judge(template, shoot, base, before if same else None)
    if before is not None:
        yield from multi_zonal.judge_change(before, template, base)
