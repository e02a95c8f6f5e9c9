"""Where a ManagedSeed, or a template for one, keeps the template of its Seed."""

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.admission.decision import Finding
from webhook.api.managedseeds import ManagedSeedSpec


def path_of(spec: ManagedSeedSpec, base: str = "spec") -> str:
    """Return the path of the Seed template of the variant in use."""
    if spec.seed_template is not None:
        return f"{base}.seedTemplate"
    return f"{base}.gardenlet.config.seedConfig"


def misplaced(spec: Any, base: str = "spec") -> Iterator[Finding]:
    """Refuse fields beside `metadata` and `spec`: document 000's own example has them there."""
    template = spec.get("seedTemplate") if isinstance(spec, Mapping) else None
    if not isinstance(template, Mapping):
        return
    for key in template:
        if key not in ("metadata", "spec", "apiVersion", "kind"):
            yield Finding.forbidden(
                f"{base}.seedTemplate.{key}", f"move under {base}.seedTemplate.spec"
            )
