"""Errors of control planes; the messages are for users and name the remedy."""


class PlaneError(Exception):
    """A component could not be built, found, started or used."""


class NotBuiltError(PlaneError):
    """A component is required that is not built on this machine."""
