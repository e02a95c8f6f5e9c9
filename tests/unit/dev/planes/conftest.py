"""Fake binaries, so that tests need no build."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from webhook.dev.planes.binaries import folder_of
from webhook.dev.planes.components import component_of


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that installs a Python program as a built binary."""
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path / "cache"))

    def put(name: str, program: str) -> None:
        path = folder_of(component_of(name)) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{program}")
        path.chmod(0o755)

    return put
