"""What a ManagedSeed's spec must hold by itself, and what of it may not change."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.admission.rules import gardenlet, seed_spec, templates
from webhook.admission.rules.seed_spec import Manner
from webhook.api.managedseeds import ManagedSeedSpec, seed_template_of


def judge(spec: ManagedSeedSpec, base: str, manner: Manner) -> Iterator[Finding]:
    """Judge the variant, its gardenlet and its Seed template; `base` is the spec's path."""
    if spec.seed_template is not None and spec.gardenlet is not None:
        yield Finding.forbidden(
            f"{base}.seedTemplate", "give either seedTemplate or gardenlet, not both"
        )
    elif spec.seed_template is None and spec.gardenlet is None:
        yield Finding.required(f"{base}.gardenlet", "give gardenlet, or seedTemplate instead")
    if spec.seed_template is not None and spec.seed_template.metadata.name:
        yield Finding.forbidden(
            f"{base}.seedTemplate.metadata.name",
            "the seed is named after the ManagedSeed, remove it",
        )
    if spec.gardenlet is not None:
        yield from gardenlet.judge(spec.gardenlet, f"{base}.gardenlet", is_of_set=manner.is_of_set)
    template = seed_template_of(spec)
    if template is not None:
        yield from seed_spec.judge(template.spec, f"{templates.path_of(spec, base)}.spec", manner)


def judge_change(
    old: ManagedSeedSpec, new: ManagedSeedSpec, base: str, *, is_of_set: bool = False
) -> Iterator[Finding]:
    """Refuse to change what a registered seed was made with."""
    if old.gardenlet is not None and new.gardenlet is not None:
        yield from gardenlet.judge_change(
            old.gardenlet, new.gardenlet, f"{base}.gardenlet", is_of_set=is_of_set
        )
    if old.seed_template is None and old.gardenlet is not None and new.gardenlet is None:
        yield Finding.invalid(
            base, "seedTemplate", "a seed with a gardenlet keeps it, put gardenlet back"
        )
    before, after = seed_template_of(old), seed_template_of(new)
    if before is not None and after is not None:
        field = f"{templates.path_of(new, base)}.spec"
        yield from seed_spec.judge_change(before.spec, after.spec, field, is_of_set=is_of_set)
