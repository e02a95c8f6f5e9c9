"""What a gardenlet takes over from the one of the seed that hosts its Shoot (mergeWithParent)."""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final, NamedTuple

from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot

# Of a parent's settings these are its own: its way to the garden and its seed.
_NOT_INHERITED: Final = ("seedConfig",)
_NOT_INHERITED_CONNECTION: Final = ("bootstrapKubeconfig", "kubeconfigSecret", "kubeconfig")


class Settings(NamedTuple):
    """A gardenlet's configuration and deployment, with all that it inherits."""

    config: Draft
    deployment: Draft


def merged(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> Settings:
    """Lay a gardenlet's settings over its parent's, and those over the grandparent's."""
    own = _gardenlet(raw)
    elders = [*_elders(raw, shoot, snapshot)][::-1]
    configs = [
        *(_inheritable(each.get("config") or {}) for each in elders),
        own.get("config") or {},
    ]
    deployments = [each.get("deployment") or {} for each in (*elders, own)]
    nothing: Draft = {}
    return Settings(reduce(merge, configs, nothing), reduce(merge, deployments, nothing))


def note(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> str:
    """Say so where a merge is asked for and nothing is known of the parent."""
    if not _gardenlet(raw).get("mergeWithParent") or [*_elders(raw, shoot, snapshot)]:
        return ""
    host = shoot.spec.seed_name or "which the Shoot does not have yet"
    return (
        f", merged with no parent: neither a ManagedSeed nor seeds.parentGardenlet in the settings"
        f" tells of the gardenlet of seed {host}"
    )


def merge(parent: Raw, child: Raw) -> Draft:
    """Lay one tree over another; lists and scalars of the child replace the parent's."""
    merged = dict(parent)
    for key, value in child.items():
        before = merged.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(before, value) if both else value  # type: ignore[arg-type] # both are
    return merged


def _elders(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> Iterator[Raw]:
    """Walk up as far as each merges with its parent: by ManagedSeeds, then by the settings."""
    seen: set[str] = set()
    while _gardenlet(raw).get("mergeWithParent", True):
        host = shoot.spec.seed_name
        if not host or host in seen:
            return
        found = snapshot.raw(ManagedSeed, ObjectKey(shoot.namespace, host))
        if found is None or not _gardenlet(found):
            yield from filter(None, (snapshot.options.seeds.parent_gardenlet,))
            return
        seen.add(host)
        yield _gardenlet(found)
        name = ((found.get("spec") or {}).get("shoot") or {}).get("name", "")
        above = snapshot.get(Shoot, ObjectKey(shoot.namespace, name))
        if above is None:
            return
        raw, shoot = found, above


def _gardenlet(raw: Raw) -> Raw:
    found: Raw = (raw.get("spec") or {}).get("gardenlet") or {}
    return found


def _inheritable(parent: Raw) -> Draft:
    kept = {key: value for key, value in parent.items() if key not in _NOT_INHERITED}
    if connection := kept.get("gardenClientConnection"):
        kept["gardenClientConnection"] = {
            key: value for key, value in connection.items() if key not in _NOT_INHERITED_CONNECTION
        }
    return kept
