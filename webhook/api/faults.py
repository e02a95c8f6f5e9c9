"""What is wrong with an object that does not decode."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One field that is not what its kind says, and why."""

    path: str
    message: str
