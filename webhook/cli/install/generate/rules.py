"""Permissions as values, and the rules of RBAC that are made of them."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.cli.install.layout import InstallMode
from webhook.domain.features import Feature
from webhook.kube.meta import Draft

READ: Final = ("get", "list", "watch")

_ORDER: Final = (*READ, "create", "update", "patch", "delete", "deletecollection", "bind")

Scope: TypeAlias = Literal["cluster", "own", "garden", "kube-system", "kube-node-lease"]
"""Where a permission holds: everywhere, or in our namespace, that of managed seeds, or another."""


class PermissionRule(NamedTuple):
    """Verbs on a resource, what they are needed for, and in which installations."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()
    """The only objects that the verbs may be used on; empty if there is no such limit."""
    scope: Scope = "cluster"
    modes: tuple[InstallMode, ...] = ("standalone", "gardener")
    """The modes that need it, each by itself."""
    features: tuple[Feature, ...] = ()
    """The features that need it, each by itself; empty if every installation does."""


def rules(permissions: Iterable[PermissionRule]) -> list[Draft]:
    """Merge permissions into as few rules of a Role as possible, in a stable order."""
    merged: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for permission in permissions:
        verbs = merged.setdefault((permission.group, permission.resource, permission.names), [])
        verbs += [verb for verb in permission.verbs if verb not in verbs]
    return list(_join(merged))


def _join(merged: dict[tuple[str, str, tuple[str, ...]], list[str]]) -> Iterator[Draft]:
    alike: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, only), verbs in merged.items():
        ordered = tuple(sorted(verbs, key=_ORDER.index))
        alike.setdefault((group, only, ordered), []).append(resource)
    for (group, only, allowed), resources in sorted(alike.items()):
        rule: Draft = {"apiGroups": [group], "resources": sorted(resources)}
        if only:
            rule["resourceNames"] = list(only)
        yield {**rule, "verbs": list(allowed)}
