"""What can go wrong with a control plane, said so that a person knows what to do."""


class PlaneError(Exception):
    """A real part could not be built, found, started or used."""


class NotBuiltError(PlaneError):
    """A real part is wanted that this machine does not have."""
