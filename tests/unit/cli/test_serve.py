"""What cannot even begin says so in one line and ends with 2."""

from pathlib import Path

import pytest

from webhook.cli import serve
from webhook.cli.main import COMMANDS, main
from webhook.settings import Settings, flag

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
    missing = [name for name in Settings.model_fields if f"{flag(name)} VALUE" not in listed]
    assert missing == list(serve._SECTIONS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--port", "many"], "--port", id="a setting that is no number"),
        pytest.param(["--kubeconfig", "/nowhere"], "name a working kubeconfig", id="no kubeconfig"),
        pytest.param(["--config", "/nowhere"], "cannot read /nowhere", id="no file"),
    ],
)
def test_what_cannot_begin(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_an_api_server_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    assert main(["serve", "--kubeconfig", str(tmp_path / "kubeconfig")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "check --kubeconfig" in error


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fly"])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
