"""What this machine has and lacks for Espalier; each finding names the remedy."""

import platform
import shutil
import sys
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.planes import binaries
from webhook.planes.build import ToolError, find_go
from webhook.planes.parts import PARTS, Part

State: TypeAlias = Literal["ok", "missing", "optional", "note"]
"""`missing` stops something that everybody needs, `optional` something that some do."""

_PYTHON: Final = (3, 11)


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: State
    subject: str
    message: str


def machine() -> Iterator[Finding]:
    """Look at this machine."""
    yield _python()
    yield _tool("make", "runs the targets of the Makefile: install it with the system's packages")
    yield _kubectl()
    parts = [part for part in PARTS if part.folder.is_dir()]
    yield from map(_real, parts)
    if any(binaries.missing(part) for part in parts):
        yield _go(parts)
    if not parts:
        message = "no sources: the real control planes are built from a checkout"
        yield Finding("note", "real parts", message)


def _real(part: Part) -> Finding:
    subject = f"real {part.name}"
    if lacking := binaries.missing(part):
        effect = "tests that need them are skipped"
        message = f"{', '.join(lacking)} not built, {effect}: run `make real`"
        return Finding("optional", subject, message)
    return Finding("ok", subject, str(binaries.folder_of(part)))


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info >= _PYTHON:
        return Finding("ok", "Python", f"{version} at {sys.executable}")
    wanted = ".".join(map(str, _PYTHON))
    return Finding("missing", "Python", f"{version} is too old, {wanted} or newer is needed")


def _tool(name: str, purpose: str) -> Finding:
    path = shutil.which(name)
    return Finding("ok", name, path) if path else Finding("optional", name, purpose)


def _kubectl() -> Finding:
    built = binaries.find("kubectl")
    path = shutil.which("kubectl")
    if path:
        return Finding("ok", "kubectl", path)
    if built:
        return Finding("ok", "kubectl", f"{built}, not on PATH: put its folder there to use it")
    return Finding("optional", "kubectl", "not found: install it, or run `make real`")


def _go(parts: list[Part]) -> Finding:
    try:
        return Finding("ok", "Go", find_go(parts))
    except ToolError as error:
        return Finding("optional", "Go", str(error))
