"""Built commands are found where the user's cache is."""

from pathlib import Path

import pytest

from webhook.planes.binaries import cache_dir, find, folder_of, missing, require
from webhook.planes.errors import PlaneError
from webhook.planes.parts import part_of


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"HOME": "/home/me"}, "/home/me/.cache/espalier", id="by default"),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "/caches"},
            "/caches/espalier",
            id="where the desktop keeps caches",
        ),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "/caches", "ESPALIER_CACHE": "/mine"},
            "/mine",
            id="where the user says",
        ),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "", "ESPALIER_CACHE": ""},
            "/home/me/.cache/espalier",
            id="empty variables say nothing",
        ),
    ],
)
def test_the_cache_is(environ, folder):
    assert cache_dir(environ) == Path(folder)


def test_a_command_that_is_not_built_is_not_found(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    assert find("etcd") is None
    assert missing(part_of("kubectl")) == part_of("kubectl").binaries
    with pytest.raises(PlaneError, match="kubectl is not built: run `make real`"):
        require("kubectl")


def test_a_command_is_found_once_it_can_run(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    path = folder_of(part_of("etcd")) / "etcd"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    assert find("etcd") is None
    path.chmod(0o755)
    assert find("etcd") == path
    assert require("etcd") == path
    assert missing(part_of("etcd")) == ()
