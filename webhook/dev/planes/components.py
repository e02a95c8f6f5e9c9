"""COMPONENTS: the binaries that are built, from which Go modules and with which flags."""

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CHECKOUT: Final = Path(__file__).resolve().parents[3]
SOURCES: Final = _CHECKOUT / "real"
"""The folder of the Go modules; missing where the package is installed from a wheel."""


@dataclass(frozen=True, slots=True)
class Component:
    """One Go module of this repository, and the binaries whose versions it pins."""

    name: str
    """The folder below `real/`, or below `home`."""

    module: str
    """The required module whose version is the component's."""

    packages: tuple[str, ...]
    """The packages to build; a binary has the name of the last element of its package."""

    minutes: float
    """Duration of a build on two cores with an empty cache, for the message to the user."""

    assets: tuple[str, ...] = ()
    """Folders of the module that are copied beside the binaries, for tests."""

    stamped: bool = True
    """Whether the binaries have the version variables of k8s.io/component-base."""

    home: Path | None = None
    """The parent of the folder, if it is not `real/`."""

    @property
    def folder(self) -> Path:
        """The folder of the module's sources."""
        return (self.home or SOURCES) / self.name

    @property
    def binaries(self) -> tuple[str, ...]:
        """The names of the binaries that a build produces."""
        return tuple(
            self.name if package == "." else package.rpartition("/")[2] for package in self.packages
        )


COMPONENTS: Final = (
    Component("etcd", "go.etcd.io/etcd/server/v3", (".",), minutes=1, stamped=False),
    Component(
        "kubernetes",
        "k8s.io/kubernetes",
        (
            "k8s.io/kubernetes/cmd/kube-apiserver",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-scheduler",
            "k8s.io/kubernetes/cmd/kubectl",
        ),
        minutes=7,
    ),
    # The oldest kubectl that is tested; the module of kubectl alone builds faster than Kubernetes.
    Component("kubectl-1.32", "k8s.io/kubectl", (".",), minutes=3),
    Component(
        "gardener",
        "github.com/gardener/gardener",
        (
            "github.com/gardener/gardener/cmd/gardener-apiserver",
            "github.com/gardener/gardener/cmd/gardener-controller-manager",
            "github.com/gardener/gardener/cmd/gardener-scheduler",
        ),
        minutes=6,
        assets=("example", "dev-setup/gardenconfig"),
    ),
    Component(
        "mcm",
        "github.com/gardener/machine-controller-manager",
        ("github.com/gardener/machine-controller-manager/cmd/machine-controller-manager",),
        minutes=2,
        assets=("kubernetes/crds",),
        stamped=False,
    ),
    Component(
        "peer-gardener",
        "github.com/gardener/gardener",
        (".",),
        minutes=1,
        stamped=False,
        home=_CHECKOUT / "benchmarks",
    ),
)


def component_of(binary: str) -> Component:
    """Return the component of a binary."""
    for component in COMPONENTS:
        if binary in component.binaries:
            return component
    raise KeyError(binary)


def version_of(go_mod: str, module: str) -> str:
    """Return the version of a module that a go.mod requires."""
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"go.mod does not require {module}")
    return found[1]


def go_version_of(go_mod: str) -> tuple[int, ...]:
    """Return the oldest version of Go that a go.mod allows."""
    found = re.search(r"^go (\d+(?:\.\d+)*)$", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError("go.mod has no go line")
    return tuple(int(number) for number in found[1].split("."))


def ldflags(component: Component, version: str) -> str:
    """Return the flags of the linker."""
    flags = ["-s", "-w"]
    if component.stamped:
        # Without these `kubectl version` fails, and servers report v0.0.0-master.
        if component.module == "k8s.io/kubectl":
            # Libraries of Kubernetes v1.N have the version v0.N.
            version = version.replace("v0.", "v1.", 1)
        major, minor = version.removeprefix("v").split(".")[:2]
        package = "k8s.io/component-base/version"
        flags += [f"-X {package}.gitVersion={version}"]
        flags += [f"-X {package}.gitMajor={major}", f"-X {package}.gitMinor={minor}"]
    return " ".join(flags)


def fingerprint(component: Component) -> str:
    """Return the folder name of a component's binaries; it changes with whatever affects them."""
    version = version_of((component.folder / "go.mod").read_text(), component.module)
    digest = hashlib.sha256()
    for path in sorted(component.folder.iterdir()):
        if path.name in ("go.mod", "go.sum") or path.suffix == ".go":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    machine = (platform.system(), platform.machine())
    settings = (*component.packages, ldflags(component, version), *component.assets, *machine)
    digest.update("\0".join(settings).encode())
    return f"{component.name}-{version}-{digest.hexdigest()[:12]}"
