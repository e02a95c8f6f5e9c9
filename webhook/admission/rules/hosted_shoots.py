"""The shoots on a seed, and changes of the seed that they forbid."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.seeds import SeedDNS
from webhook.api.shoots import Shoot
from webhook.state.indexes import SHOOTS_BY_SEED
from webhook.state.snapshot import Snapshot

_MAX_NAMES: Final = 5


def describe(shoots: Sequence[Shoot]) -> str:
    """Return the number of shoots and the names of the first five."""
    names = sorted(str(shoot.key) for shoot in shoots)
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    noun = "shoot" if len(names) == 1 else "shoots"
    return f"{len(names)} {noun} ({', '.join(names[:_MAX_NAMES])}{more})"


def validate_domains(
    old: SeedDNS, new: SeedDNS, seed: str, base: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Reject changes of domains that shoots use."""
    before, after = old.internal, new.internal
    moved = before is not None and after is not None and before.domain != after.domain
    kept = {default.domain for default in new.defaults}
    removed = [default.domain for default in old.defaults if default.domain not in kept]
    if not moved and not removed:
        return
    shoots = snapshot.by_index(SHOOTS_BY_SEED, seed)
    if moved and shoots:
        yield Finding.denied(
            f"cannot change while seed {seed} hosts {describe(shoots)}", f"{base}.internal.domain"
        )
    for domain in removed:
        using = [shoot for shoot in shoots if _domain(shoot).endswith(f".{domain}")]
        if using:
            yield Finding.denied(
                f"domain {domain} cannot be removed while it is used by {describe(using)}",
                f"{base}.defaults",
            )


def _domain(shoot: Shoot) -> str:
    return shoot.spec.dns.domain if shoot.spec.dns is not None else ""


def validate_zones(
    old: Collection[str], new: Collection[str], seed: str, field: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Reject the removal of zones while the seed has shoots."""
    removed = sorted(set(old) - set(new))
    shoots = snapshot.by_index(SHOOTS_BY_SEED, seed) if removed else ()
    if shoots:
        yield Finding.forbidden(
            field,
            f"zones {', '.join(removed)} cannot be removed while seed {seed} hosts "
            f"{describe(shoots)}, move them first",
        )
