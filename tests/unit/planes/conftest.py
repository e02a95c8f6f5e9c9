"""Commands that stand in for the real ones, so that running them takes no build."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from webhook.planes.binaries import folder_of
from webhook.planes.parts import part_of


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a Python program where a built command is looked for."""
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path / "cache"))

    def put(name: str, program: str) -> None:
        path = folder_of(part_of(name)) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{program}")
        path.chmod(0o755)

    return put
