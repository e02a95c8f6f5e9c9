"""The page of kinds: what is defined, watched or written, and the fields that are read."""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from webhook.api.kinds import KINDS, Kind
from webhook.dev.reference import markdown

_INTRODUCTION: Final = """# Kinds

Every kind that Espalier defines, watches or writes. Field names are upstream's, so existing
manifests apply unchanged; `kubectl explain KIND` describes every field that Espalier reads. Kinds
whose *defined by* is not Kubernetes get a CustomResourceDefinition from `espalier manifests
--standalone`; beside a Gardener only those of Espalier do.

"""

_DEFINED_BY: Final = {
    "espalier": "Espalier",
    "gardener": "Gardener",
    "garden": "Gardener (read only where it is served)",
    "extension": "Gardener's extensions",
    "machine": "machine-controller-manager",
    "druid": "etcd-druid",
    "dns": "Gardener's DNS management",
    "tortoise": "Tortoise",
    "kubernetes": "Kubernetes",
}


def page() -> str:
    """Write the page."""
    text = _INTRODUCTION
    for group, kinds in groupby(sorted(KINDS, key=_order), key=lambda kind: kind.group):
        text += f"## `{group or 'core (no group)'}`\n\n"
        headings = ("kind", "resource", "versions", "scope", "defined by", "what it is")
        text += markdown.table(headings, (_row(kind) for kind in kinds)) + "\n"
    return text.rstrip("\n") + "\n"


def _order(kind: Kind) -> tuple[bool, str, str]:
    return kind.origin == "kubernetes", kind.group, kind.name


def _row(kind: Kind) -> tuple[str, ...]:
    return (
        kind.name,
        markdown.code(kind.plural),
        markdown.codes(_versions(kind)),
        "namespace" if kind.namespaced else "cluster",
        _DEFINED_BY[kind.origin],
        markdown.one_line((kind.model.__doc__ or "").split("\n\n")[0]),
    )


def _versions(kind: Kind) -> Iterator[str]:
    yield kind.version
    yield from kind.also_served
