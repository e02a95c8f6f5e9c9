"""The settings that a gardenlet inherits from the one of its Shoot's seed (mergeWithParent)."""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Final, NamedTuple

from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.state.snapshot import Snapshot

# A parent's seed and its connections to the garden and to its cluster are its own.
_NOT_INHERITED: Final = ("seedConfig",)
_NOT_INHERITED_CONNECTION: Final = ("bootstrapKubeconfig", "kubeconfigSecret", "kubeconfig")


class GardenletSettings(NamedTuple):
    """A gardenlet's configuration and deployment, including what it inherits."""

    config: Draft
    deployment: Draft


def merged(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> GardenletSettings:
    """Merge a gardenlet's settings into its parent's, and those into the grandparent's."""
    own = _gardenlet(raw)
    ancestors = [*_ancestors(raw, shoot, snapshot)][::-1]
    configs = [
        *(_inheritable(each.get("config") or {}) for each in ancestors),
        own.get("config") or {},
    ]
    deployments = [each.get("deployment") or {} for each in (*ancestors, own)]
    nothing: Draft = {}
    return GardenletSettings(reduce(merge, configs, nothing), reduce(merge, deployments, nothing))


def note(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> str:
    """Return a note if a merge is requested and the parent is unknown."""
    if not _gardenlet(raw).get("mergeWithParent") or [*_ancestors(raw, shoot, snapshot)]:
        return ""
    host = shoot.spec.seed_name or "which the Shoot does not have yet"
    return (
        f", merged with no parent: neither a ManagedSeed nor seeds.parentGardenlet in the settings"
        f" describes the gardenlet of seed {host}"
    )


def merge(parent: Raw, child: Raw) -> Draft:
    """Merge two trees; lists and scalars of the child replace the parent's."""
    merged = dict(parent)
    for key, value in child.items():
        before = merged.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(before, value) if both else value  # type: ignore[arg-type] # both are
    return merged


def _ancestors(raw: Raw, shoot: Shoot, snapshot: Snapshot) -> Iterator[Raw]:
    """Walk up as long as each merges with its parent: ManagedSeeds first, then the settings.

    The gardenlet of a seed without a ManagedSeed has its configuration in its own cluster, where we
    have no permissions; the settings describe it.
    """
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
    if connection := kept.get("seedClientConnection"):
        kept["seedClientConnection"] = {
            key: value for key, value in connection.items() if key != "kubeconfig"
        }
    return kept
