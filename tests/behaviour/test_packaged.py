"""The program as its image has it: the wheel, the locked runtime, nobody's account, read-only."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from tests.faults.callers import REVIEW
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "webhook")

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody may look into, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture(scope="module")
def python(place: Path) -> Path:
    """The interpreter of an environment with the wheel and what the runtime lock pins, alone."""
    source, wheels, home = place / "source", place / "wheels", place / "venv"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    command = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    build = [sys.executable, *command, "--wheel-dir", str(wheels), str(source)]
    subprocess.run(build, check=True, timeout=120)
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in re.findall(r"^([a-z0-9-]+)==", _lock(), re.MULTILINE):
        _link(name, packages)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(packages)
    return home / "bin" / "python"


def _lock() -> str:
    return (ROOT / "requirements-runtime.lock").read_text()


def _link(name: str, packages: Path) -> None:
    """Have a distribution of this environment in the other one, too."""
    found = distribution(name)
    for file in found.files or ():
        if not file.parts[0].startswith("..") and file.suffix != ".pyc":
            link = packages / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(str(found.locate_file(file))))


def test_the_wheel_brings_all_that_it_needs(python: Path, place: Path) -> None:
    script = "from webhook.cli.main import main; main(['manifests', '--standalone'])"
    done = subprocess.run(
        [python, "-I", "-c", script], cwd=place, capture_output=True, timeout=60, check=True
    )
    assert done.stdout.count(b"\nkind: CustomResourceDefinition") > 30


async def test_it_serves_as_nobody_on_a_root_that_cannot_be_written_to(
    embedded_server, python: Path, place: Path
) -> None:
    kubeconfig, wrapper, log = place / "kubeconfig", place / "nobody.py", place / "log"
    shutil.copy(embedded_server.kubeconfig, kubeconfig)
    kubeconfig.chmod(0o644)
    shutil.copy(Path(__file__).with_name("nobody.py"), wrapper)
    flags = {
        "kubeconfig": kubeconfig,
        "namespace": f"nobody-{uuid4().hex[:8]}",
        "host": "127.0.0.1",
        "http-host": "127.0.0.1",
        "port": 0,
        "http-port": 0,
        "manage-webhooks": "false",
        "drain-quiet": 0,
    }
    nowhere = {"PATH": "/nowhere", "HOME": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    with log.open("wb") as lines:
        process = await asyncio.create_subprocess_exec(
            *(str(python), "-I", str(wrapper), "serve"),
            *(f"--{name}={value}" for name, value in flags.items()),
            stderr=lines,
            cwd="/",
            env=nowhere,
        )
    try:
        listening = await _logged(process, log, "listening")
        async with aiohttp.ClientSession() as session:
            plain = f"http://127.0.0.1:{listening['http_port']}"

            async def is_ready() -> bool:
                async with session.get(f"{plain}/readyz") as answer:
                    return answer.status == 200

            await eventually(is_ready, 120)
            url = f"https://127.0.0.1:{listening['port']}/validate"
            async with session.post(url, json=REVIEW, ssl=False) as answer:
                assert (await answer.json())["response"]["allowed"]
        process.terminate()
        async with asyncio.timeout(90):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert "Read-only file system" not in log.read_text()


async def _logged(
    process: asyncio.subprocess.Process, log: Path, message: str
) -> dict[str, object]:
    found: dict[str, object] = {}

    async def is_logged() -> bool:
        text = await asyncio.to_thread(log.read_text)
        assert process.returncode is None, text[-2000:]
        for line in text.splitlines():
            if line.startswith("{") and json.loads(line)["message"] == message:
                found.update(json.loads(line))
        return bool(found)

    await eventually(is_logged, 120)
    return found
