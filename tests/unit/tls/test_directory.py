import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.support.secret_mount import SecretMount
from webhook.tls.authority import Authority
from webhook.tls.bundle import AUTHORITIES_FILE, CERTIFICATE_FILE, Bundle, write_directory
from webhook.tls.directory import POLL_SECONDS, WATCH_SECONDS, follow_directory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AUTHORITY = Authority.create("old", NOW)
FIRST = Bundle(AUTHORITY.sign_server(["localhost"], NOW), AUTHORITY.certificate)
SECOND = Bundle(AUTHORITY.sign_server(["localhost"], NOW), AUTHORITY.certificate)


@dataclass
class Follower:
    """Follows a directory and sleeps until the test continues."""

    taken: list[Bundle] = field(default_factory=list)
    slept: float = 0.0
    _asleep: asyncio.Event = field(default_factory=asyncio.Event)
    _awake: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, bundle: Bundle) -> None:
        self.taken.append(bundle)

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self._asleep.set()
        await self._awake.wait()
        self._awake.clear()

    async def look(self) -> list[Bundle]:
        """Let it check once more, and return the bundles taken since."""
        self.taken.clear()
        self._asleep.clear()
        self._awake.set()
        await self._asleep.wait()
        return self.taken


@asynccontextmanager
async def following(directory: Path) -> AsyncIterator[Follower]:
    follower = Follower()
    task = asyncio.create_task(follow_directory(directory, follower.take, follower.sleep))
    await follower._asleep.wait()
    try:
        yield follower
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_mounted_secret_is_read_at_the_next_check_after_its_update(tmp_path: Path) -> None:
    mount = SecretMount(tmp_path / "tls", FIRST)
    async with following(mount.directory) as follower:
        assert follower.taken == [FIRST]
        assert await follower.look() == []
        mount.swap(SECOND)
        assert await follower.look() == [SECOND]
        mount.swap(SECOND)
        assert await follower.look() == [], "the same content is nothing new"


async def test_plain_files_are_read_when_they_appear_and_whenever_they_change(
    tmp_path: Path,
) -> None:
    async with following(tmp_path) as follower:
        assert follower.taken == []
        write_directory(tmp_path, FIRST)
        assert await follower.look() == [FIRST]
        (tmp_path / CERTIFICATE_FILE).unlink()
        assert await follower.look() == []
        write_directory(tmp_path, SECOND)
        assert await follower.look() == [SECOND]


async def test_a_change_without_new_times_is_found_by_polling(
    tmp_path: Path,
) -> None:
    write_directory(tmp_path, FIRST)
    file = tmp_path / AUTHORITIES_FILE
    before = file.stat()
    async with following(tmp_path) as follower:
        with file.open("r+b") as opened:
            opened.write(FIRST.authorities.swapcase())
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        while not await follower.look():
            pass
        assert follower.taken == [Bundle(FIRST.pair, FIRST.authorities.swapcase())]
        assert follower.slept <= POLL_SECONDS + 2 * WATCH_SECONDS
