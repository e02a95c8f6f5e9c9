"""Checks of this machine: what Espalier needs on it, and how to install what is missing."""

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Final, Literal, NamedTuple, TypeAlias

CheckState: TypeAlias = Literal["ok", "missing", "optional", "note"]
"""`missing`: everybody needs it; `optional`: some need it; `note`: for information only."""

_PYTHON: Final = (3, 11)
_DEVELOPMENT: Final = "webhook.dev.doctor"
"""Imported by name: an installation may lack the development package."""


class DoctorCheck(NamedTuple):
    """The result of one check."""

    state: CheckState
    subject: str
    message: str


def examine_machine() -> Iterator[DoctorCheck]:
    """Check Python and the tools; with the development package also the real control planes."""
    yield _python()
    yield _make()
    try:
        development = import_module(_DEVELOPMENT)
    except ModuleNotFoundError:
        return
    yield from development.examine_development()


def _python() -> DoctorCheck:
    version = platform.python_version()
    if sys.version_info >= _PYTHON:
        return DoctorCheck("ok", "Python", f"{version} at {sys.executable}")
    wanted = ".".join(map(str, _PYTHON))
    return DoctorCheck("missing", "Python", f"{version} is too old, {wanted} or newer is needed")


def _make() -> DoctorCheck:
    path = shutil.which("make")
    if path:
        return DoctorCheck("ok", "make", path)
    remedy = "install it with the system's packages"
    return DoctorCheck("optional", "make", f"runs the targets of the Makefile: {remedy}")
