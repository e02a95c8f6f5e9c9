"""Finds the built binaries and assets in the user's cache."""

import os
from collections.abc import Mapping
from pathlib import Path

from webhook.dev.planes.components import SOURCES, Component, component_of, fingerprint
from webhook.dev.planes.errors import NotBuiltError


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the cache folder of the user: ESPALIER_CACHE, else the one of XDG."""
    if chosen := environ.get("ESPALIER_CACHE"):
        return Path(chosen)
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "espalier"
    return Path(environ.get("HOME") or Path.home()) / ".cache" / "espalier"


def folder_of(component: Component) -> Path:
    """Return the folder of a component's binaries, whether they are built or not."""
    return cache_dir(os.environ) / "real" / fingerprint(component)


def find(name: str) -> Path | None:
    """Return the path of a binary; None if it is not built."""
    component = component_of(name)
    if not component.folder.is_dir():
        return None
    path = folder_of(component) / name
    return path if os.access(path, os.X_OK) else None


def require(name: str) -> Path:
    """Return the path of a binary; raise with the remedy if it is not built."""
    if path := find(name):
        return path
    if not SOURCES.is_dir():
        raise NotBuiltError(
            f"{name} is built from a checkout: clone the repository, run `make real`"
        )
    raise NotBuiltError(f"{name} is not built: run `make real`")


def find_asset(component: Component, path: str) -> Path | None:
    """Return a folder that was kept of a component's module; None if it is missing.

    Assets are copied, so that the repository needs none of them and the Go module cache may be
    emptied.
    """
    if not component.folder.is_dir():
        return None
    folder = folder_of(component) / path
    return folder if folder.is_dir() else None


def missing(component: Component) -> tuple[str, ...]:
    """Return the binaries and assets of a component that are not built."""
    binaries = tuple(name for name in component.binaries if find(name) is None)
    return binaries + tuple(
        path for path in component.assets if find_asset(component, path) is None
    )
