"""The label of multi-zonal seeds: who may carry it, and that there is no way back."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.seeds import Seed, SeedTemplate
from webhook.api.shoots import Shoot, ShootTemplate
from webhook.domain import zones


def judge(
    seed: Seed | SeedTemplate,
    shoot: Shoot | ShootTemplate,
    base: str,
    stored: Seed | SeedTemplate | None = None,
) -> Iterator[Finding]:
    """Refuse the label on a seed whose Shoot has fewer than three zones.

    On one that is stored with it, for the same Shoot, it is only pointed at: whoever writes
    something else, a gardenlet above all, is not made to mend it first.
    """
    found = sorted(zones.shoot_zones(shoot))
    if not _says_so(seed) or len(found) >= zones.FEWEST:
        return
    has = f"{len(found)} ({', '.join(found)})" if found else "none"
    finding = Finding.forbidden(
        f"{base}metadata.labels[{names.MULTI_ZONAL}]",
        f"a multi-zonal seed needs a shoot with at least {zones.FEWEST} zones, this one has "
        f"{has}: add zones to its worker pools or remove the label",
    )
    unchanged = stored is not None and _says_so(stored) and _adds_no_zone(stored, seed)
    yield finding.softened() if unchanged else finding


def _says_so(seed: Seed | SeedTemplate) -> bool:
    return seed.metadata.labels.get(names.MULTI_ZONAL) == "true"


def _adds_no_zone(old: Seed | SeedTemplate, new: Seed | SeedTemplate) -> bool:
    return zones.seed_zones(new) <= zones.seed_zones(old)


def judge_change(
    old: Seed | SeedTemplate, new: Seed | SeedTemplate, base: str
) -> Iterator[Finding]:
    """Refuse to turn a multi-zonal seed back: control planes may rely on its zones."""
    if not zones.is_multi_zonal(old) or zones.is_multi_zonal(new):
        return
    if new.metadata.labels.get(names.MULTI_ZONAL) == "false":
        yield Finding.forbidden(
            f"{base}metadata.labels[{names.MULTI_ZONAL}]",
            "a multi-zonal seed stays multi-zonal, remove the label or set it to true",
        )
    if len(zones.seed_zones(new)) < zones.FEWEST:
        yield Finding.forbidden(
            f"{base}spec.provider.zones",
            f"a multi-zonal seed stays multi-zonal, keep at least {zones.FEWEST} zones",
        )
