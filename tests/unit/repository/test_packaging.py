import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def test_the_image_gets_what_was_tested():
    runtime, everything = pins("requirements-runtime.lock"), pins("requirements.lock")
    assert runtime.items() <= everything.items()
    assert not runtime.keys() & {"pytest", "mypy", "ruff", "setuptools"}


def test_the_image_gets_nothing_of_an_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() == {"dev", "test"}
    named = {
        re.split(r"[^A-Za-z0-9-]", each)[0].lower() for extra in extras.values() for each in extra
    }
    assert {"cel-python", "google-re2", "pytest"} <= named
    assert not pins("requirements-runtime.lock").keys() & named
    assert named <= pins("requirements.lock").keys()


def test_every_pin_has_hashes():
    for name in ("requirements.lock", "requirements-runtime.lock"):
        for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text()):
            assert "==" not in entry or "--hash=sha256:" in entry, entry


def test_the_image_runs_as_nobody():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "USER 65532:65532" in lines
    assert sum(line.startswith("FROM ") for line in lines) == 2


def test_no_key_is_ever_committed():
    ignored = (ROOT / "certs" / ".gitignore").read_text().split()
    assert ignored == ["*", "!.gitignore", "!README.md"]
