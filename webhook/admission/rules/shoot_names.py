"""Names of shoots, which clouds bound together with the name of their project."""

from typing import Final

from webhook.api.projects import Project
from webhook.state.indexes import PROJECTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

LONGEST: Final = 21
"""Gardener's limit on the names of a project and a shoot together."""
GENERATED: Final = 5
"""How many of them an API server adds to a `generateName`."""


def project_of(namespace: str, snapshot: Snapshot) -> Project | None:
    """Find the project that a namespace belongs to."""
    if not snapshot.watches(Project):
        return None
    found = snapshot.by_index(PROJECTS_BY_NAMESPACE, namespace)
    return found[0] if found else None
