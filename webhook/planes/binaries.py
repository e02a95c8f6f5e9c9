"""Where the built commands, and what came with them, are."""

import os
from collections.abc import Mapping
from pathlib import Path

from webhook.planes.errors import NotBuiltError
from webhook.planes.parts import SOURCES, Part, fingerprint, part_of


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Say which folder of the user keeps what is built."""
    if chosen := environ.get("ESPALIER_CACHE"):
        return Path(chosen)
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "espalier"
    return Path(environ.get("HOME") or Path.home()) / ".cache" / "espalier"


def folder_of(part: Part) -> Path:
    """Say where a part's binaries belong, built or not."""
    return cache_dir(os.environ) / "real" / fingerprint(part)


def find(name: str) -> Path | None:
    """Look a command up; None if it is not built."""
    part = part_of(name)
    if not part.folder.is_dir():
        return None
    path = folder_of(part) / name
    return path if os.access(path, os.X_OK) else None


def require(name: str) -> Path:
    """Look a command up; if it is not built, say how it gets there."""
    if path := find(name):
        return path
    if not SOURCES.is_dir():
        raise NotBuiltError(
            f"{name} is built from a checkout: clone the repository, run `make real`"
        )
    raise NotBuiltError(f"{name} is not built: run `make real`")


def find_asset(part: Part, path: str) -> Path | None:
    """Look up a folder that was kept of a part's module; None if it is not there."""
    if not part.folder.is_dir():
        return None
    folder = folder_of(part) / path
    return folder if folder.is_dir() else None


def missing(part: Part) -> tuple[str, ...]:
    """List the commands and folders of a part that are not there."""
    commands = tuple(name for name in part.binaries if find(name) is None)
    return commands + tuple(path for path in part.assets if find_asset(part, path) is None)
