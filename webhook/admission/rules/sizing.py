"""The sizing strategy of a shoot or of a template for one."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.shoots import Shoot, ShootTemplate

STRATEGIES: Final = ("Adaptive", "Backward-Compatible")
_FIELD: Final = "spec.kubernetes.clusterAutoscaler.sizingStrategy"


def judge(shoot: Shoot | ShootTemplate, base: str = "") -> Iterator[Finding]:
    """Refuse an unknown strategy; `base` is where the template stands, with a dot at its end."""
    autoscaler = shoot.spec.kubernetes.cluster_autoscaler
    written = autoscaler.sizing_strategy if autoscaler is not None else ""
    if written and written not in STRATEGIES:
        yield Finding.not_supported(f"{base}{_FIELD}", written, STRATEGIES)
    twin = shoot.metadata.annotations.get(names.SIZING_STRATEGY)
    if twin is None:
        return
    field = f"{base}metadata.annotations[{names.SIZING_STRATEGY}]"
    if twin not in STRATEGIES:
        yield Finding.not_supported(field, twin, STRATEGIES)
    elif written and twin != written:
        yield Finding.invalid(field, twin, f"contradicts {base}{_FIELD}, remove the annotation")
