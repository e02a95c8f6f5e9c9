"""Watches a key pair in files that others write, such as a mounted Secret."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from webhook.tls.bundle import DATA_SYMLINK, FILES, Bundle, BundleError, load_directory

logger = logging.getLogger(__name__)

WATCH_SECONDS: Final = 1.0
"""How often the directory is checked, by a few calls of stat."""

POLL_SECONDS: Final = 10.0
"""How often the files are read in any case, because some file systems have coarse times."""

Fingerprint: TypeAlias = tuple[tuple[int, int, int] | None, ...]


async def follow_directory(
    directory: Path,
    take: Callable[[Bundle], Awaitable[object]],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Call `take` with each new bundle, as soon as the directory changes.

    The directory is checked and not the files, because a mounted Secret is updated by replacing a
    symlink. Files that cannot be read are tried again. Checking once a second notices a change as
    soon as inotify would, on every file system and without a further dependency.
    """
    last: Bundle | None = None
    seen: Fingerprint = ()
    checks = 0
    while True:
        # Taken before the files are read, so that the next check notices a change meanwhile.
        fingerprint = await asyncio.to_thread(fingerprint_of, directory)
        if fingerprint != seen or checks * WATCH_SECONDS >= POLL_SECONDS:
            seen, checks = fingerprint, 0
            bundle = await _load(directory)
            if bundle is not None and bundle != last:
                last = bundle
                await take(bundle)
        checks += 1
        await sleep(WATCH_SECONDS)


def fingerprint_of(directory: Path) -> Fingerprint:
    """Return a value that changes whenever one of the files, or the symlink, is replaced."""
    return tuple(_stat(directory / name) for name in (".", DATA_SYMLINK, *FILES))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  follows symlinks, so a replaced one is noticed
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


async def _load(directory: Path) -> Bundle | None:
    try:
        return await asyncio.to_thread(load_directory, directory)
    except BundleError as error:
        logger.warning("keeping the serving certificate", extra={"error": str(error)})
        return None
