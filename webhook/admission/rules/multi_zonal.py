"""The label of multi-zonal seeds: which seeds may have it, and that they stay multi-zonal."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.seeds import Seed, SeedTemplate
from webhook.api.shoots import Shoot, ShootTemplate
from webhook.domain.seeds import zones


def validate(
    seed: Seed | SeedTemplate,
    shoot: Shoot | ShootTemplate,
    base: str,
    stored: Seed | SeedTemplate | None = None,
) -> Iterator[Finding]:
    """Reject the label on a seed whose Shoot has fewer than three zones.

    If the seed is stored with the label and the same Shoot this is a warning: an update of another
    field, as by a gardenlet, must not require fixing the label first.
    """
    found = sorted(zones.shoot_zones(shoot))
    if not _is_labelled(seed) or len(found) >= zones.MIN_ZONES:
        return
    has = f"{len(found)} ({', '.join(found)})" if found else "none"
    finding = Finding.forbidden(
        f"{base}metadata.labels[{names.MULTI_ZONAL}]",
        f"a multi-zonal seed needs a shoot with at least {zones.MIN_ZONES} zones, this one has "
        f"{has}: add zones to its worker pools or remove the label",
    )
    unchanged = stored is not None and _is_labelled(stored) and _adds_no_zone(stored, seed)
    yield finding.as_warning() if unchanged else finding


def _is_labelled(seed: Seed | SeedTemplate) -> bool:
    return seed.metadata.labels.get(names.MULTI_ZONAL) == "true"


def _adds_no_zone(old: Seed | SeedTemplate, new: Seed | SeedTemplate) -> bool:
    return zones.seed_zones(new) <= zones.seed_zones(old)


def validate_update(
    old: Seed | SeedTemplate, new: Seed | SeedTemplate, base: str
) -> Iterator[Finding]:
    """Reject an update that makes the seed no longer multi-zonal: control planes need its zones."""
    if not zones.is_multi_zonal(old) or zones.is_multi_zonal(new):
        return
    if new.metadata.labels.get(names.MULTI_ZONAL) == "false":
        yield Finding.forbidden(
            f"{base}metadata.labels[{names.MULTI_ZONAL}]",
            "a multi-zonal seed stays multi-zonal, remove the label or set it to true",
        )
    if len(zones.seed_zones(new)) < zones.MIN_ZONES:
        yield Finding.forbidden(
            f"{base}spec.provider.zones",
            f"a multi-zonal seed stays multi-zonal, keep at least {zones.MIN_ZONES} zones",
        )
