"""Build the real parts that are missing into the user's cache: python -m webhook.planes.build."""

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess  # the one program run here is Go, with arguments from our own table
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from webhook.planes.binaries import cache_dir, folder_of, missing
from webhook.planes.errors import PlaneError
from webhook.planes.parts import PARTS, Part, go_version_of, ldflags, version_of
from webhook.planes.progress import Progress

_SCRATCH = ".building-"


class ToolError(PlaneError):
    """Something that building needs is not on this machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and answer with its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m webhook.planes.build",
        description="Build the real control planes from their Go modules into the user's cache.",
    )
    known = [part.name for part in PARTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--list", action="store_true", help="print what is there and what is not")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"unknown part {unknown[0]}: choose from {', '.join(known)}")
    parts = [part for part in PARTS if part.name in (options.names or known)]
    try:
        if options.list:
            sys.stdout.writelines(f"{line}\n" for line in listing(parts))
        else:
            build(parts)
    except ToolError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except PlaneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what was finished is kept, run it again to go on\n")
        return 130
    return 0


def listing(parts: Iterable[Part]) -> Iterator[str]:
    """Describe each part in a line: its version, whether it is built, and where or what lacks."""
    for part in parts:
        if not part.folder.is_dir():
            yield f"{part.name:<11} no sources: the real parts are built from a checkout"
            continue
        version = _version(part)
        lacking = missing(part)
        if lacking:
            remedy = f"run `make real` (about {part.minutes:g} min)"
            yield f"{part.name:<11} {version:<9} missing  {', '.join(lacking)}: {remedy}"
        else:
            yield f"{part.name:<11} {version:<9} built    {folder_of(part)}"


def build(parts: Sequence[Part]) -> None:
    """Build every part that lacks a binary; safe beside another build."""
    if not any(missing(part) for part in parts):
        sys.stderr.write("all real parts are built\n")
        return
    go = find_go(parts)
    root = cache_dir(os.environ) / "real"
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / ".lock"):
        for stale in root.glob(f"{_SCRATCH}*"):
            shutil.rmtree(stale, ignore_errors=True)
        for number, part in enumerate(parts, start=1):
            progress = Progress(f"[{number}/{len(parts)}] {part.name} {_version(part)}")
            if missing(part):
                _build_part(go, part, progress)
            else:
                progress.begin("is built")


def find_go(parts: Iterable[Part]) -> str:
    """Find a Go that is new enough for every part."""
    wanted = max(go_version_of((part.folder / "go.mod").read_text()) for part in parts)
    remedy = f"install Go {'.'.join(map(str, wanted))} or newer and put it on PATH"
    go = shutil.which("go")
    if go is None:
        raise ToolError(f"Go is not on PATH: {remedy}")
    told = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    version = decode_go_version(told.stdout)
    if version is None:
        raise ToolError(f"{go} does not tell its version: {remedy}")
    # A Go that may fetch the toolchain a module asks for does so by itself.
    chosen = subprocess.run([go, "env", "GOTOOLCHAIN"], capture_output=True, text=True, check=False)
    if version < wanted and "auto" not in chosen.stdout:
        raise ToolError(f"Go {'.'.join(map(str, version))} at {go} is too old: {remedy}")
    return go


def decode_go_version(text: str) -> tuple[int, ...] | None:
    """Read what `go version` prints."""
    found = re.search(r"\bgo(\d+(?:\.\d+)*)", text)
    return tuple(int(number) for number in found[1].split(".")) if found else None


def _version(part: Part) -> str:
    return version_of((part.folder / "go.mod").read_text(), part.module)


def _build_part(go: str, part: Part, progress: Progress) -> None:
    progress.begin(f"building {', '.join(part.binaries)} (about {part.minutes:g} min)")
    folder = folder_of(part)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder.parent) as scratch:
        log = folder.parent / f"{part.name}.log"
        log.write_text("")
        run = _Run(part, log, progress)
        total = len(run([go, "list", "-deps", *part.packages], "fetching modules", "downloading "))
        flags = ["-v", "-trimpath", "-buildvcs=false", "-ldflags", ldflags(part, _version(part))]
        outputs = [f"{scratch}/{part.name}"] if part.packages == (".",) else [f"{scratch}/"]
        command = [go, "build", *flags, "-o", *outputs, *part.packages]
        run(command, f"compiling, of {total} packages", "")
        if part.assets:
            module = run([go, "list", "-m", "-f", "{{.Dir}}", part.module], "copying", "")[0]
            for path in part.assets:
                _copy(Path(module) / path, Path(scratch) / path)
        for path in (*part.binaries, *part.assets):
            _move(Path(scratch) / path, folder / path)
    log.unlink()
    progress.end(f"built into {folder}")


def _copy(source: Path, target: Path) -> None:
    """Copy a folder's files; those of a module are read-only, and copies shall not be."""
    for path in source.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _move(source: Path, target: Path) -> None:
    """Put a finished file or folder in its place, at once or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    source.replace(target)


class _Run:
    """Run Go in a part's module, count what it reports, keep its output for those who ask why."""

    def __init__(self, part: Part, log: Path, progress: Progress) -> None:
        self._part = part
        self._log = log
        self._progress = progress

    def __call__(self, command: Sequence[str], doing: str, marker: str) -> list[str]:
        reported: list[str] = []
        with (
            self._log.open("a") as log,
            tempfile.TemporaryFile("w+") as out,
            subprocess.Popen(
                command,
                cwd=self._part.folder,
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
        said = [line for line in self._log.read_text().splitlines() if line.strip()]
        last = said[-1].strip() if said else "without a word"
        return f"go {command[1]} of {self._part.name} failed: {last} (all of it: {self._log})"


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
                    progress.begin("another build is running; going on after it")
                waited = True
                progress.tick("another build is running")
                time.sleep(1)
        yield


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(main())
