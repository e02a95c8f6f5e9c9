"""A command that cannot start prints one line and exits with 2."""

import subprocess
import sys
from pathlib import Path

import pytest

from webhook.cli import serve
from webhook.cli.main import COMMANDS, main
from webhook.nodegroups.service import GrpcListenError
from webhook.server.listeners import ListenError
from webhook.settings import SECTIONS, Settings
from webhook.settingsfile import flag_name
from webhook.wiring.api_watcher import ShadowedDefinitionsError

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
users: [{name: me, user: {token: abc}}]
"""


def test_help_lists_every_command_and_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in COMMANDS)
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    listed = capsys.readouterr().out
    missing = [name for name in Settings.model_fields if f"{flag_name(name)} VALUE" not in listed]
    assert missing == list(SECTIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--port", "many"], "--port", id="a setting that is no number"),
        pytest.param(["--kubeconfig", "/nowhere"], "name a working kubeconfig", id="no kubeconfig"),
        pytest.param(["--config", "/nowhere"], "cannot read /nowhere", id="no file"),
    ],
)
def test_a_server_that_cannot_start_ends_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_each_invalid_setting_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "many", "--max-in-flight", "0"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("espalier serve: port: ")
    assert second.startswith("  maxInFlight: ")


def test_an_unreachable_api_server_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    assert main(["serve", "--kubeconfig", str(tmp_path / "kubeconfig")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "check --kubeconfig" in error


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        pytest.param(ListenError("cannot listen on h:1"), "--http-port", id="a port of HTTP"),
        pytest.param(
            GrpcListenError("cannot listen on h:2"), "--nodegroups-port", id="the port of gRPC"
        ),
        pytest.param(ShadowedDefinitionsError("shadowed"), "shadowed", id="hidden definitions"),
    ],
)
def test_an_error_in_a_background_task_at_the_start_ends_with_2(
    error: Exception,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_settings: Settings) -> None:
        raise ExceptionGroup("tasks", [error])

    monkeypatch.setattr(serve, "_run", fail)
    assert main(["serve"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert remedy in printed


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fly"])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_a_command_without_its_extra_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without = COMMANDS["dev"]._replace(requires=("no_such_module",))
    monkeypatch.setitem(COMMANDS, "dev", without)
    assert main(["dev"]) == 2
    expected = "espalier dev: no_such_module not found: run pip install 'espalier[dev]'\n"
    assert capsys.readouterr().err == expected


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from webhook.cli.main import COMMANDS, main\n"
        "try: main(['--help'])\n"
        "finally: print(*({c.module for c in COMMANDS.values()} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\n\n")
