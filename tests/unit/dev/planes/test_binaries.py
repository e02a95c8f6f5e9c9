"""Built binaries are found in the user's cache."""

from pathlib import Path

import pytest

from webhook.dev.planes.binaries import cache_dir, find, folder_of, missing, require
from webhook.dev.planes.components import component_of
from webhook.dev.planes.errors import PlaneError


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"HOME": "/home/me"}, "/home/me/.cache/espalier", id="by default"),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "/caches"},
            "/caches/espalier",
            id="the cache folder of XDG",
        ),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "/caches", "ESPALIER_CACHE": "/mine"},
            "/mine",
            id="chosen by the user",
        ),
        pytest.param(
            {"HOME": "/home/me", "XDG_CACHE_HOME": "", "ESPALIER_CACHE": ""},
            "/home/me/.cache/espalier",
            id="empty variables are ignored",
        ),
    ],
)
def test_the_cache_folder_is(environ, folder):
    assert cache_dir(environ) == Path(folder)


def test_a_binary_that_is_not_built_is_not_found(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    assert find("etcd") is None
    assert missing(component_of("kubectl")) == component_of("kubectl").binaries
    with pytest.raises(PlaneError, match="kubectl is not built: run `make real`"):
        require("kubectl")


def test_a_binary_is_found_once_it_is_executable(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    path = folder_of(component_of("etcd")) / "etcd"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    assert find("etcd") is None
    path.chmod(0o755)
    assert find("etcd") == path
    assert require("etcd") == path
    assert missing(component_of("etcd")) == ()
