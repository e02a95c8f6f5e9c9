"""Comparison of resourceVersions, which are decimal and increase within a kind."""


def ordinal(resource_version: str) -> int:
    """Return a version as a number for comparison; 0 for one that is not a number."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


def covers(seen: str, wanted: str) -> bool:
    """Return whether a watch that has seen one version has also seen the other."""
    return seen == wanted or ordinal(seen) >= ordinal(wanted) > 0
