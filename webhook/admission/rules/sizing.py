"""The sizing strategy of a shoot or of a shoot template."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.shoots import Shoot, ShootTemplate

STRATEGIES: Final = ("Adaptive", "Backward-Compatible")
_FIELD: Final = "spec.kubernetes.clusterAutoscaler.sizingStrategy"


def validate(shoot: Shoot | ShootTemplate, base: str = "") -> Iterator[Finding]:
    """Reject an unknown strategy; `base` is the path of the template with a dot, or empty."""
    autoscaler = shoot.spec.kubernetes.cluster_autoscaler
    written = autoscaler.sizing_strategy if autoscaler is not None else ""
    if written and written not in STRATEGIES:
        yield Finding.not_supported(f"{base}{_FIELD}", written, STRATEGIES)
    annotation = shoot.metadata.annotations.get(names.SIZING_STRATEGY)
    if annotation is None:
        return
    field = f"{base}metadata.annotations[{names.SIZING_STRATEGY}]"
    if annotation not in STRATEGIES:
        yield Finding.not_supported(field, annotation, STRATEGIES)
    elif written and annotation != written:
        yield Finding.invalid(
            field, annotation, f"contradicts {base}{_FIELD}, remove the annotation"
        )
