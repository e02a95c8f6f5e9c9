"""A build reports its progress, missing tools and failures."""

import io
import stat
from pathlib import Path

import pytest
from typing_extensions import override

from webhook.dev.planes import build, components
from webhook.dev.planes.build import decode_go_version, listing, main
from webhook.dev.planes.components import COMPONENTS, Component
from webhook.dev.planes.progress import Progress, format_seconds

FAKE_GO = """#!/bin/sh
case "$1" in
version) echo "go version go{version} linux/amd64" ;;
env) echo "{toolchain}" ;;
list)
    echo "go: downloading example.com/one v1.2.3" >&2
    if [ "$2" = -m ]; then echo "$MODULE"; else echo a; echo b; fi ;;
build)
    if [ -n "$FAIL" ]; then echo "example.com/one: cannot compile" >&2; exit 1; fi
    while [ $# -gt 0 ]; do
        if [ "$1" = -o ]; then
            echo "example.com/one" >&2
            printf '#!/bin/sh\\n' > "$2/tool"
            chmod +x "$2/tool"
        fi
        shift
    done ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up one component to build, an empty cache and no Go."""
    folder = tmp_path / "real" / "one"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module x\n\ngo 1.26.5\n\nrequire example.com/one v1.2.3\n")
    row = Component(
        "one", "example.com/one", ("example.com/one/cmd/tool",), 2, assets=("some/docs",)
    )
    table = (row,)
    docs = tmp_path / "module" / "some" / "docs"
    (docs / "deeper").mkdir(parents=True)
    (docs / "deeper" / "a.yaml").write_text("a: 1")
    (docs / "deeper" / "a.yaml").chmod(0o444)
    monkeypatch.setenv("MODULE", str(tmp_path / "module"))
    monkeypatch.setattr(components, "SOURCES", tmp_path / "real")
    monkeypatch.setattr(components, "COMPONENTS", table)
    monkeypatch.setattr(build, "COMPONENTS", table)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def install_go(machine: Path, version: str = "1.26.5", toolchain: str = "local") -> None:
    go = machine / "bin" / "go"
    go.write_text(
        FAKE_GO.replace("{version}", version)
        .replace("{toolchain}", toolchain)
        .replace("chmod", "/bin/chmod")
    )
    go.chmod(go.stat().st_mode | stat.S_IXUSR)


def built(machine: Path) -> list[str]:
    found = (machine / "cache" / "real").glob("one-*/**/*")
    return sorted(path.name for path in found if path.is_file())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("go version go1.26.8 linux/amd64", (1, 26, 8), id="a release"),
        pytest.param("go version go1.27rc1 linux/amd64", (1, 27), id="a candidate"),
        pytest.param("go version devel +abc", None, id="something else"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_the_output_of_go_version_is_parsed(text, version):
    assert decode_go_version(text) == version


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (754, "12 min 34 s")],
)
def test_durations_are_formatted_in_minutes_and_seconds(seconds, text):
    assert format_seconds(seconds) == text


def test_without_go_the_remedy_is_named_and_the_exit_code_is_2(machine, capsys):
    assert main([]) == 2
    output = capsys.readouterr().err
    assert output == "error: Go is not on PATH: install Go 1.26.5 or newer and put it on PATH\n"


def test_with_an_old_go_the_remedy_is_named_and_the_exit_code_is_2(machine, capsys):
    install_go(machine, "1.26.4")
    assert main([]) == 2
    output = capsys.readouterr().err
    assert output.startswith("error: Go 1.26.4 at ")
    assert output.endswith("is too old: install Go 1.26.5 or newer and put it on PATH\n")


@pytest.mark.parametrize(
    ("version", "toolchain"),
    [
        pytest.param("1.26.5", "local", id="exactly new enough"),
        pytest.param("1.27.0", "local", id="newer"),
        pytest.param("1.24.1", "auto", id="old, but it fetches a newer one by itself"),
    ],
)
def test_a_go_that_is_recent_enough_builds(machine, capsys, version, toolchain):
    install_go(machine, version, toolchain)
    assert main([]) == 0
    assert built(machine) == ["a.yaml", "tool"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[1/1] one v1.2.3: building tool (about 2 min)"
    assert lines[-1].startswith("[1/1] one v1.2.3: built into ")


def test_a_built_component_is_not_built_again(machine, capsys):
    install_go(machine)
    assert main([]) == 0
    (machine / "bin" / "go").unlink()
    assert main([]) == 0
    assert capsys.readouterr().err.endswith("all components are built\n")


def test_a_failed_build_is_reported_in_one_line_with_the_log(machine, capsys, monkeypatch):
    install_go(machine)
    monkeypatch.setenv("FAIL", "1")
    assert main(["one"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    log = machine / "cache" / "real" / "one.log"
    assert last == (
        f"error: go build of one failed: example.com/one: cannot compile (full log: {log})"
    )
    assert built(machine) == []
    assert not list(log.parent.glob(".building-*"))


def test_the_remains_of_an_interrupted_build_are_removed(machine):
    install_go(machine)
    stale = machine / "cache" / "real" / ".building-old"
    stale.mkdir(parents=True)
    assert main([]) == 0
    assert not stale.exists()


def test_an_unknown_name_is_rejected_with_the_known_ones(machine, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["two"])
    assert stopped.value.code == 2
    assert "unknown component two: choose from one" in capsys.readouterr().err


def test_the_list_shows_what_is_missing_and_the_remedy(machine, capsys):
    assert main(["--list"]) == 0
    output = capsys.readouterr().out
    assert (
        output == "one         v1.2.3    missing  tool, some/docs: run `make real` (about 2 min)\n"
    )


def test_the_list_shows_the_folder_of_what_is_built(machine, capsys):
    install_go(machine)
    assert main([]) == 0
    capsys.readouterr()
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.startswith(f"one         v1.2.3    built    {machine}/cache/")


def test_the_list_explains_an_installation_without_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(components, "SOURCES", tmp_path / "nowhere")
    sourceless = [component for component in COMPONENTS if component.home is None]
    assert all("built from a checkout" in line for line in listing(sourceless))


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_one_rewritten_line():
    out = Terminal()
    progress = Progress("[1/1] one", out)
    progress.tick("compiling")
    progress.tick("linking")
    progress.end("built")
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().split("\r\x1b[K")[1:] == [
        "[1/1] one: compiling, 0 s",
        "[1/1] one: linking, 0 s",
        "[1/1] one: built, 0 s\n",
    ]


def test_progress_in_a_file_has_no_line_per_tick():
    out = io.StringIO()
    progress = Progress("[1/1] one", out)
    for _ in range(100):
        progress.tick("compiling")
    assert out.getvalue() == ""
