"""Follow a pair that somebody else keeps as files, such as a mounted Secret."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from webhook.tls.bundle import FILES, SWAPPED, Bundle, BundleError, load_directory

logger = logging.getLogger(__name__)

WATCH_SECONDS: Final = 1.0
"""How often the directory is looked at: a few stats, which no file system minds."""

POLL_SECONDS: Final = 10.0
"""How often the files are read in any case: some file systems keep no useful times."""

Mark: TypeAlias = tuple[tuple[int, int, int] | None, ...]


async def follow_directory(
    directory: Path,
    take: Callable[[Bundle], Awaitable[object]],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Hand on each bundle whose content is new, as soon as the directory changes.

    It is the directory that is watched: a mounted Secret changes by exchanging a symlink, and a
    watch on a file ends with that file. What cannot be read now is tried again.
    """
    last: Bundle | None = None
    seen: Mark = ()
    looks = 0
    while True:
        # Taken before the files are read: a change meanwhile is then seen by the next look.
        mark = await asyncio.to_thread(mark_of, directory)
        if mark != seen or looks * WATCH_SECONDS >= POLL_SECONDS:
            seen, looks = mark, 0
            bundle = await _load(directory)
            if bundle is not None and bundle != last:
                last = bundle
                await take(bundle)
        looks += 1
        await sleep(WATCH_SECONDS)


def mark_of(directory: Path) -> Mark:
    """Give what changes whenever a file of a pair, or the whole set of them, is exchanged."""
    return tuple(_stat(directory / name) for name in (".", SWAPPED, *FILES))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  follows symlinks, so an exchanged one is noticed
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


async def _load(directory: Path) -> Bundle | None:
    try:
        return await asyncio.to_thread(load_directory, directory)
    except BundleError as error:
        logger.warning("kept the serving certificate", extra={"error": str(error)})
        return None
