"""COMPONENTS agrees with the Go modules that it names."""

import dataclasses

import pytest

from webhook.dev.planes import components
from webhook.dev.planes.components import (
    COMPONENTS,
    Component,
    component_of,
    fingerprint,
    go_version_of,
    ldflags,
    version_of,
)

GO_MOD = """module x

go 1.26.5

require example.com/one v1.2.3

require (
\texample.com/two v0.4.0
\texample.com/two/sub v9.9.9 // indirect
)
"""


@pytest.fixture
def module(tmp_path, monkeypatch) -> Component:
    """Return a component whose sources a test may change."""
    monkeypatch.setattr(components, "SOURCES", tmp_path)
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text("sum")
    (folder / "tools.go").write_text("package tools")
    return Component("one", "example.com/one", ("example.com/one/cmd/tool",), minutes=1)


@pytest.mark.parametrize(
    ("module", "version"),
    [
        pytest.param("example.com/one", "v1.2.3", id="required on a line of its own"),
        pytest.param("example.com/two", "v0.4.0", id="required in a block"),
    ],
)
def test_a_version_is_the_one_that_go_mod_requires(module, version):
    assert version_of(GO_MOD, module) == version


def test_a_module_that_go_mod_does_not_require_is_an_error():
    with pytest.raises(ValueError, match=r"does not require example\.com/three"):
        version_of(GO_MOD, "example.com/three")


def test_the_oldest_go_is_read_from_go_mod():
    assert go_version_of(GO_MOD) == (1, 26, 5)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_every_component_has_sources_that_pin_what_it_builds(component):
    assert version_of((component.folder / "go.mod").read_text(), component.module)
    assert go_version_of((component.folder / "go.mod").read_text()) >= (1, 26)
    assert (component.folder / "go.sum").stat().st_size > 0
    sources = "".join(path.read_text() for path in component.folder.glob("*.go"))
    for package in component.packages:
        assert package == "." or f'_ "{package}"' in sources


def test_kubernetes_takes_every_staging_module_at_its_own_release():
    kubernetes = component_of("kube-apiserver")
    go_mod = (kubernetes.folder / "go.mod").read_text()
    minor = version_of(go_mod, kubernetes.module).removeprefix("v1.")
    replaced = [line for line in go_mod.splitlines() if " => " in line]
    assert len(replaced) == 31
    assert all(line.endswith(f" v0.{minor}") for line in replaced)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_no_source_names_where_modules_are_fetched_from(component):
    for path in component.folder.iterdir():
        assert "proxy" not in path.name
        assert "GOPROXY" not in path.read_text()


@pytest.mark.parametrize(
    ("binary", "component"),
    [
        ("etcd", "etcd"),
        ("kubectl", "kubernetes"),
        ("kubectl-1.32", "kubectl-1.32"),
        ("gardener-apiserver", "gardener"),
        ("machine-controller-manager", "mcm"),
    ],
)
def test_a_binary_belongs_to_its_component(binary, component):
    assert component_of(binary).name == component


def test_an_unknown_binary_is_an_error():
    with pytest.raises(KeyError):
        component_of("kubelet")


def test_a_stamped_binary_is_linked_with_its_version():
    component = Component("p", "m", (".",), minutes=1)
    package = "k8s.io/component-base/version"
    assert ldflags(component, "v1.36.3") == (
        f"-s -w -X {package}.gitVersion=v1.36.3 -X {package}.gitMajor=1 -X {package}.gitMinor=36"
    )


def test_a_library_is_stamped_with_the_release_it_belongs_to():
    assert "gitVersion=v1.32.3 " in ldflags(component_of("kubectl-1.32"), "v0.32.3")


def test_other_binaries_are_linked_without_a_version():
    assert ldflags(Component("p", "m", (".",), minutes=1, stamped=False), "v3.6.8") == "-s -w"


def test_the_same_sources_have_the_same_fingerprint(module):
    assert fingerprint(module) == fingerprint(module)
    assert fingerprint(module).startswith("one-v1.2.3-")


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "tools.go"])
def test_a_changed_source_changes_the_fingerprint(module, file):
    before = fingerprint(module)
    path = module.folder / file
    path.write_text(path.read_text() + "\n// changed\n")
    assert fingerprint(module) != before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"packages": ("example.com/one/cmd/other",)}, id="another command"),
        pytest.param({"assets": ("docs",)}, id="other folders kept"),
        pytest.param({"stamped": False}, id="other flags of the linker"),
    ],
)
def test_a_changed_row_changes_the_fingerprint(module, change):
    assert fingerprint(dataclasses.replace(module, **change)) != fingerprint(module)


def test_a_file_beside_the_sources_changes_nothing(module):
    before = fingerprint(module)
    (module.folder / "README.md").write_text("hello")
    assert fingerprint(module) == before
