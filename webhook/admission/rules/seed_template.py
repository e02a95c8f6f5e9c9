"""The spec of a ManagedSeed: seedTemplate or gardenlet, and the Seed template in it."""

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.admission.decision import Finding
from webhook.admission.rules import gardenlet, seed_spec
from webhook.admission.rules.seed_spec import SeedValidationOptions
from webhook.api.managedseeds import ManagedSeedSpec, seed_template_of


def validate(spec: ManagedSeedSpec, base: str, options: SeedValidationOptions) -> Iterator[Finding]:
    """Validate seedTemplate or gardenlet, whichever is used; `base` is the path of the spec.

    Document 000 allows either, though Gardener has dropped seedTemplate. With neither there is
    nothing to default: the choice is the user's.
    """
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
        yield from gardenlet.validate(
            spec.gardenlet, f"{base}.gardenlet", is_of_set=options.is_of_set
        )
    template = seed_template_of(spec)
    if template is not None:
        yield from seed_spec.validate(template.spec, f"{path_of(spec, base)}.spec", options)


def validate_update(
    old: ManagedSeedSpec, new: ManagedSeedSpec, base: str, *, is_of_set: bool = False
) -> Iterator[Finding]:
    """Reject changes of immutable fields of a registered seed."""
    if old.gardenlet is not None and new.gardenlet is not None:
        yield from gardenlet.validate_update(
            old.gardenlet, new.gardenlet, f"{base}.gardenlet", is_of_set=is_of_set
        )
    if old.seed_template is None and old.gardenlet is not None and new.gardenlet is None:
        yield Finding.invalid(
            base, "seedTemplate", "a seed with a gardenlet keeps it, put gardenlet back"
        )
    before, after = seed_template_of(old), seed_template_of(new)
    if before is not None and after is not None:
        field = f"{path_of(new, base)}.spec"
        yield from seed_spec.validate_update(before.spec, after.spec, field, is_of_set=is_of_set)


def path_of(spec: ManagedSeedSpec, base: str = "spec") -> str:
    """Return the path of the Seed template, in seedTemplate or in gardenlet."""
    if spec.seed_template is not None:
        return f"{base}.seedTemplate"
    return f"{base}.gardenlet.config.seedConfig"


def validate_fields(spec: Any, base: str = "spec") -> Iterator[Finding]:
    """Reject fields beside `metadata` and `spec`, as the example in document 000 has them."""
    template = spec.get("seedTemplate") if isinstance(spec, Mapping) else None
    if not isinstance(template, Mapping):
        return
    for key in template:
        if key not in ("metadata", "spec", "apiVersion", "kind"):
            yield Finding.forbidden(
                f"{base}.seedTemplate.{key}", f"move under {base}.seedTemplate.spec"
            )
