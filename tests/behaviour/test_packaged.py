"""The installed wheel: without the extra `dev`, as the image has it, and with it.

Without the extra it prints manifests, checks and serves, in an unprivileged account on a read-only
root. `espalier dev` names what to install there, and runs where the extra is installed.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import yaml

from tests.support.review_load import REVIEW
from tests.support.waits import eventually
from webhook.dev.landscapes import demo
from webhook.dev.planes.ports import free_port

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "webhook")

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every account may read, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture(scope="module")
def wheel(place: Path) -> Path:
    """The wheel, built from a copy of the sources."""
    source, wheels = place / "source", place / "wheels"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    command = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    build = [sys.executable, *command, "--wheel-dir", str(wheels), str(source)]
    subprocess.run(build, check=True, timeout=120)
    (built,) = wheels.iterdir()
    return built


@pytest.fixture(scope="module")
def python(place: Path, wheel: Path) -> Path:
    """The interpreter of an environment with the wheel and what the runtime lock pins."""
    return _install(wheel, place / "venv", _locked())


@pytest.fixture(scope="module")
def dev_python(place: Path, wheel: Path) -> Path:
    """The interpreter of an environment that has the distributions of the extra `dev`, too."""
    return _install(wheel, place / "venv-dev", _locked() | _closure(_extra("dev")))


def _install(wheel: Path, home: Path, distributions: set[str]) -> Path:
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in distributions:
        _link(name, packages)
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(packages)
    return home / "bin" / "python"


def _locked() -> set[str]:
    lock = (ROOT / "requirements-runtime.lock").read_text()
    return {*re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE)}


def _extra(name: str) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements: list[str] = project["optional-dependencies"][name]
    return requirements


def _closure(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that satisfy requirements, and those that they require in turn."""
    found: set[str] = set()
    for requirement in requirements:
        name = re.split(r"[^A-Za-z0-9._-]", requirement)[0]
        if "extra ==" not in requirement and _is_installed(name):
            found |= {name} | _closure(requires(name) or ())
    return found


def _is_installed(name: str) -> bool:
    """Whether a distribution is here; requirements of other systems and versions are not."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _link(name: str, packages: Path) -> None:
    """Link a distribution of this environment into another one."""
    found = distribution(name)
    for file in found.files or ():
        link = packages / file
        if not file.parts[0].startswith("..") and file.suffix != ".pyc" and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(str(found.locate_file(file))))


def _run(python: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-I", "-m", "webhook", *arguments]
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_wheel_prints_manifests(python: Path, place: Path) -> None:
    done = _run(python, place, "manifests", "--standalone", "--offline")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\nkind: CustomResourceDefinition") > 30


@pytest.mark.parametrize(
    ("maximum", "code"), [pytest.param(3, 0, id="valid"), pytest.param(0, 1, id="invalid")]
)
def test_the_wheel_checks_manifests(python: Path, place: Path, maximum: int, code: int) -> None:
    profile = next(each for each in demo.objects() if each["kind"] == "CloudProfile")
    shoot = demo.shoot("alpha", 0)
    shoot["spec"]["provider"]["workers"][0]["maximum"] = maximum
    file = place / "shoot.yaml"
    file.write_text(yaml.safe_dump_all([profile, shoot]))
    done = _run(python, place, "check", str(file))
    assert done.returncode == code, done.stdout + done.stderr


def test_the_command_dev_names_the_missing_extra(python: Path, place: Path) -> None:
    done = _run(python, place, "dev")
    assert done.returncode == 2
    assert "pip install 'espalier[dev]'" in done.stderr


async def test_the_command_dev_runs_with_the_extra(dev_python: Path, place: Path) -> None:
    ports = [f"--{name}={free_port()}" for name in ("api-port", "port", "http-port")]
    process = await asyncio.create_subprocess_exec(
        *(str(dev_python), "-m", "webhook", "dev", "--landscape=empty", "--dir=landscape", *ports),
        stdout=asyncio.subprocess.PIPE,
        cwd=place,
        # The wheel is what runs, whatever the tests import.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(150):
            assert (await process.stdout.readline()).startswith(b"ready: https://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(90):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_wheel_serves_in_an_unprivileged_account_on_a_read_only_root(
    embedded_server, python: Path, place: Path
) -> None:
    kubeconfig, wrapper, log = place / "kubeconfig", place / "nobody.py", place / "log"
    shutil.copy(embedded_server.kubeconfig, kubeconfig)
    kubeconfig.chmod(0o644)
    shutil.copy(Path(__file__).with_name("unprivileged.py"), wrapper)
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
        await _check_that_it_answers(await _logged(process, log, "listening"))
        process.terminate()
        async with asyncio.timeout(90):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert "Read-only file system" not in log.read_text()


async def _check_that_it_answers(listening: dict[str, Any]) -> None:
    async with aiohttp.ClientSession() as session:
        plain = f"http://127.0.0.1:{listening['http_port']}"

        async def is_ready() -> bool:
            async with session.get(f"{plain}/readyz") as answer:
                return answer.status == 200

        await eventually(is_ready, 120)
        url = f"https://127.0.0.1:{listening['port']}/validate"
        async with session.post(url, json=REVIEW, ssl=False) as answer:
            assert (await answer.json())["response"]["allowed"]


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
