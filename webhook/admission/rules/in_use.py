"""Seeds that cannot go, or lose something, because shoots are on them."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.seeds import SeedDNS
from webhook.api.shoots import Shoot
from webhook.state.indexes import SHOOTS_BY_SEED
from webhook.state.snapshot import Snapshot

_NAMED: Final = 5


def hosted(snapshot: Snapshot, seed: str) -> tuple[Shoot, ...]:
    """List the shoots whose spec or status names the seed; one that moves is on both."""
    return snapshot.by_index(SHOOTS_BY_SEED, seed)


def listed(shoots: Sequence[Shoot]) -> str:
    """Count shoots and name the first five."""
    names = sorted(str(shoot.key) for shoot in shoots)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    noun = "shoot" if len(names) == 1 else "shoots"
    return f"{len(names)} {noun} ({', '.join(names[:_NAMED])}{more})"


def domains(
    old: SeedDNS, new: SeedDNS, seed: str, base: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Refuse to change domains under the shoots that use them."""
    before, after = old.internal, new.internal
    moved = before is not None and after is not None and before.domain != after.domain
    kept = {default.domain for default in new.defaults}
    removed = [default.domain for default in old.defaults if default.domain not in kept]
    if not moved and not removed:
        return
    shoots = hosted(snapshot, seed)
    if moved and shoots:
        yield Finding.denied(
            f"cannot change while seed {seed} hosts {listed(shoots)}", f"{base}.internal.domain"
        )
    for domain in removed:
        using = [shoot for shoot in shoots if _domain(shoot).endswith(f".{domain}")]
        if using:
            yield Finding.denied(
                f"domain {domain} cannot go while it is used by {listed(using)}",
                f"{base}.defaults",
            )


def _domain(shoot: Shoot) -> str:
    return shoot.spec.dns.domain if shoot.spec.dns is not None else ""


def zones(
    old: Collection[str], new: Collection[str], seed: str, field: str, snapshot: Snapshot
) -> Iterator[Finding]:
    """Refuse to take zones away from under the shoots of a seed."""
    removed = sorted(set(old) - set(new))
    shoots = hosted(snapshot, seed) if removed else ()
    if shoots:
        yield Finding.forbidden(
            field,
            f"zones {', '.join(removed)} cannot be removed while seed {seed} hosts "
            f"{listed(shoots)}, move them first",
        )
