"""The length of shoot names, which is limited together with the name of the project."""

from typing import Final

from webhook.api.projects import Project
from webhook.state.indexes import PROJECTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

MAX_LENGTH: Final = 21
"""Gardener's limit on the names of a project and a shoot together."""
GENERATED_LENGTH: Final = 5
"""The number of characters that an API server appends to `generateName`."""


def project_of(namespace: str, snapshot: Snapshot) -> Project | None:
    """Return the project of a namespace."""
    if not snapshot.watches(Project):
        return None
    found = snapshot.by_index(PROJECTS_BY_NAMESPACE, namespace)
    return found[0] if found else None
