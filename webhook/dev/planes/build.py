"""Builds the missing components into the user's cache: python -m webhook.dev.planes.build."""

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess  # runs Go only, with arguments from COMPONENTS
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from webhook.dev.planes.binaries import cache_dir, folder_of, missing
from webhook.dev.planes.components import COMPONENTS, Component, go_version_of, ldflags, version_of
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.progress import Progress

_SCRATCH: Final = ".building-"
"""Prefix of the folders in which builds are prepared."""


class ToolError(PlaneError):
    """A tool that a build needs is missing on this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m webhook.dev.planes.build",
        description="Build the real control planes from their Go modules into the user's cache.",
    )
    known = [component.name for component in COMPONENTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument(
        "--list", action="store_true", help="list what is built and what is missing"
    )
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"unknown component {unknown[0]}: choose from {', '.join(known)}")
    components = [
        component for component in COMPONENTS if component.name in (options.names or known)
    ]
    try:
        if options.list:
            sys.stdout.writelines(f"{line}\n" for line in listing(components))
        else:
            build(components)
    except ToolError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except PlaneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; finished components are kept, run it again to continue\n")
        return 130
    return 0


def listing(components: Iterable[Component]) -> Iterator[str]:
    """Describe each component in a line: its version, and where it is built or what is missing."""
    for component in components:
        if not component.folder.is_dir():
            yield f"{component.name:<11} no sources: real control planes are built from a checkout"
            continue
        version = _version(component)
        if absent := missing(component):
            remedy = f"run `make real` (about {component.minutes:g} min)"
            yield f"{component.name:<11} {version:<9} missing  {', '.join(absent)}: {remedy}"
        else:
            yield f"{component.name:<11} {version:<9} built    {folder_of(component)}"


def build(components: Sequence[Component]) -> None:
    """Build every component that misses a binary; concurrent builds wait for each other."""
    if not any(missing(component) for component in components):
        sys.stderr.write("all components are built\n")
        return
    go = find_go(components)
    root = cache_dir(os.environ) / "real"
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / ".lock"):
        for stale in root.glob(f"{_SCRATCH}*"):
            shutil.rmtree(stale, ignore_errors=True)
        for number, component in enumerate(components, start=1):
            progress = Progress(
                f"[{number}/{len(components)}] {component.name} {_version(component)}"
            )
            if missing(component):
                _build_component(go, component, progress)
            else:
                progress.begin("already built")


def find_go(components: Iterable[Component]) -> str:
    """Return the path of a Go that is recent enough for every component."""
    wanted = max(
        go_version_of((component.folder / "go.mod").read_text()) for component in components
    )
    remedy = f"install Go {'.'.join(map(str, wanted))} or newer and put it on PATH"
    go = shutil.which("go")
    if go is None:
        raise ToolError(f"Go is not on PATH: {remedy}")
    printed = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    version = decode_go_version(printed.stdout)
    if version is None:
        raise ToolError(f"{go} does not print its version: {remedy}")
    # With GOTOOLCHAIN=auto, Go downloads the toolchain that a module requires.
    toolchain = subprocess.run(
        [go, "env", "GOTOOLCHAIN"], capture_output=True, text=True, check=False
    )
    if version < wanted and "auto" not in toolchain.stdout:
        raise ToolError(f"Go {'.'.join(map(str, version))} at {go} is too old: {remedy}")
    return go


def decode_go_version(text: str) -> tuple[int, ...] | None:
    """Parse the output of `go version`."""
    found = re.search(r"\bgo(\d+(?:\.\d+)*)", text)
    return tuple(int(number) for number in found[1].split(".")) if found else None


def _version(component: Component) -> str:
    return version_of((component.folder / "go.mod").read_text(), component.module)


def _build_component(go: str, component: Component, progress: Progress) -> None:
    progress.begin(f"building {', '.join(component.binaries)} (about {component.minutes:g} min)")
    folder = folder_of(component)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder.parent) as scratch:
        log = folder.parent / f"{component.name}.log"
        log.write_text("")
        run = _GoRunner(component, log, progress)
        total = len(
            run([go, "list", "-deps", *component.packages], "fetching modules", "downloading ")
        )
        flags = [
            "-v",
            "-trimpath",
            "-buildvcs=false",
            "-ldflags",
            ldflags(component, _version(component)),
        ]
        outputs = (
            [f"{scratch}/{component.name}"] if component.packages == (".",) else [f"{scratch}/"]
        )
        command = [go, "build", *flags, "-o", *outputs, *component.packages]
        run(command, f"compiling, of {total} packages", "")
        if component.assets:
            module = run([go, "list", "-m", "-f", "{{.Dir}}", component.module], "copying", "")[0]
            for path in component.assets:
                _copy(Path(module) / path, Path(scratch) / path)
        for path in (*component.binaries, *component.assets):
            _move(Path(scratch) / path, folder / path)
    log.unlink()
    progress.end(f"built into {folder}")


def _copy(source: Path, target: Path) -> None:
    """Copy the files of a folder; copies are writable, unlike the files of a Go module."""
    for path in source.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _move(source: Path, target: Path) -> None:
    """Move a finished file or folder to its place atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)


class _GoRunner:
    """Runs Go in the module of a component, shows progress and keeps the output in a log."""

    def __init__(self, component: Component, log: Path, progress: Progress) -> None:
        self._component = component
        self._log = log
        self._progress = progress

    def __call__(self, command: Sequence[str], doing: str, marker: str) -> list[str]:
        reported: list[str] = []
        with (
            self._log.open("a") as log,
            tempfile.TemporaryFile("w+") as out,
            subprocess.Popen(
                command,
                cwd=self._component.folder,
                env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": ""},
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):

            def read() -> None:
                for line in process.stderr or ():
                    log.write(line)
                    if marker in line:
                        reported.append(line)

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            try:
                while process.poll() is None:
                    reader.join(timeout=1)
                    self._progress.tick(f"{doing}: {len(reported)} so far")
            except BaseException:
                process.kill()
                raise
            finally:
                reader.join()
            out.seek(0)
            listed = out.read().splitlines()
        if process.returncode:
            raise PlaneError(self._failure(command))
        return listed

    def _failure(self, command: Sequence[str]) -> str:
        lines = [line for line in self._log.read_text().splitlines() if line.strip()]
        last = lines[-1].strip() if lines else "no output"
        return f"go {command[1]} of {self._component.name} failed: {last} (full log: {self._log})"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    progress = Progress("waiting")
    with path.open("w") as file:
        waited = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    progress.begin("another build is running; continuing after it")
                waited = True
                progress.tick("another build is running")
                time.sleep(1)
        yield


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(main())
