"""Whether a shoot tolerates the taints of a seed."""

from collections.abc import Sequence
from typing import NamedTuple

from webhook.api.seeds import SeedTaint
from webhook.api.shoots import Toleration


class Tolerations(NamedTuple):
    """A shoot's tolerations by key, hashable.

    Gardener puts them into a map, so of two with the same key the later one counts, and yet it
    compares the number of taints with the number of tolerations in the list.
    """

    listed: int
    by_key: tuple[tuple[str, str | None], ...]


def read(tolerations: Sequence[Toleration]) -> Tolerations:
    """Collect tolerations by key, as Gardener does."""
    by_key = {toleration.key: toleration.value for toleration in tolerations}
    return Tolerations(len(tolerations), tuple(sorted(by_key.items(), key=lambda item: item[0])))


def tolerates(tolerations: Tolerations, taints: Sequence[SeedTaint]) -> bool:
    """Return whether every taint is tolerated.

    A taint without a value is tolerated by any toleration of its key; one with a value only by
    a toleration with the same value.
    """
    if not taints:
        return True
    if len(taints) > tolerations.listed:
        return False
    by_key = dict(tolerations.by_key)
    return all(
        taint.key in by_key and (taint.value is None or taint.value == by_key[taint.key])
        for taint in taints
    )
