"""Compare resourceVersions, which Kubernetes promises to be decimal and rising per kind."""


def ordinal(resource_version: str) -> int:
    """Give the place of a version in its kind's history; one that is no number comes first."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


def covers(seen: str, wanted: str) -> bool:
    """Say whether whoever has seen one version knows the other, too."""
    return seen == wanted or ordinal(seen) >= ordinal(wanted) > 0
