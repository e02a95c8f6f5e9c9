"""PARTS: the one table of what is built, from which Go module, with which flags."""

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = _CHECKOUT / "real"


@dataclass(frozen=True, slots=True)
class Part:
    """One Go module of ours, and the commands that it pins."""

    name: str
    """The folder under `real/`, unless it has another home."""

    module: str
    """The module that gives the part its version."""

    packages: tuple[str, ...]
    """What is built; a binary is named after the last element of its package."""

    minutes: float
    """What a build takes on two cores with nothing cached, for those who wait."""

    assets: tuple[str, ...] = ()
    """Folders of the module that are kept beside the binaries, for tests to read."""

    stamped: bool = True
    """Whether the commands tell their version by k8s.io/component-base."""

    home: Path | None = None
    """Where the folder is instead of `real/`."""

    @property
    def folder(self) -> Path:
        """Where the module's sources are."""
        return (self.home or SOURCES) / self.name

    @property
    def binaries(self) -> tuple[str, ...]:
        """The names of the commands that a build gives."""
        return tuple(
            self.name if package == "." else package.rpartition("/")[2] for package in self.packages
        )


PARTS = (
    Part("etcd", "go.etcd.io/etcd/server/v3", (".",), minutes=1, stamped=False),
    Part(
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
    Part("kubectl-1.32", "k8s.io/kubectl", (".",), minutes=3),
    Part(
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
    Part(
        "mcm",
        "github.com/gardener/machine-controller-manager",
        ("github.com/gardener/machine-controller-manager/cmd/machine-controller-manager",),
        minutes=2,
        assets=("kubernetes/crds",),
        stamped=False,
    ),
    Part(
        "peer-gardener",
        "github.com/gardener/gardener",
        (".",),
        minutes=1,
        stamped=False,
        home=_CHECKOUT / "benchmarks",
    ),
)


def part_of(binary: str) -> Part:
    """Find the part that gives a binary."""
    for part in PARTS:
        if binary in part.binaries:
            return part
    raise KeyError(binary)


def version_of(go_mod: str, module: str) -> str:
    """Read which version of a module a go.mod requires."""
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"go.mod does not require {module}")
    return found[1]


def go_version_of(go_mod: str) -> tuple[int, ...]:
    """Read the oldest Go that a go.mod allows."""
    found = re.search(r"^go (\d+(?:\.\d+)*)$", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError("go.mod has no go line")
    return tuple(int(number) for number in found[1].split("."))


def ldflags(part: Part, version: str) -> str:
    """Say how the commands are linked."""
    flags = ["-s", "-w"]
    if part.stamped:
        # Without these `kubectl version` fails, and servers call themselves v0.0.0-master.
        if part.module == "k8s.io/kubectl":
            # Kubernetes' libraries are v0.N where the release that they belong to is v1.N.
            version = version.replace("v0.", "v1.", 1)
        major, minor = version.removeprefix("v").split(".")[:2]
        package = "k8s.io/component-base/version"
        flags += [f"-X {package}.gitVersion={version}"]
        flags += [f"-X {package}.gitMajor={major}", f"-X {package}.gitMinor={minor}"]
    return " ".join(flags)


def fingerprint(part: Part) -> str:
    """Name the folder of a part's binaries, so that whatever changes them changes the name."""
    version = version_of((part.folder / "go.mod").read_text(), part.module)
    digest = hashlib.sha256()
    for path in sorted(part.folder.iterdir()):
        if path.name in ("go.mod", "go.sum") or path.suffix == ".go":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    machine = (platform.system(), platform.machine())
    settings = (*part.packages, ldflags(part, version), *part.assets, *machine)
    digest.update("\0".join(settings).encode())
    return f"{part.name}-{version}-{digest.hexdigest()[:12]}"
