"""`espalier check`: manifests validated offline."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.builders import make_cloud_profile, make_shoot, make_worker
from webhook.cli.main import main

GOOD = make_shoot("good", workers=[make_worker(zones="abc")])
BAD = make_shoot("bad", workers=[make_worker(zones="abc", maximum=2)])
FIELD = "spec.provider.workers[0].maximum"


def write(folder: Path, *objects: dict[str, Any], name: str = "objects.yaml") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(yaml.safe_dump_all(objects))
    return str(folder)


def test_valid_manifests_print_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", write(tmp_path, make_cloud_profile(), GOOD)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "2 objects checked: 0 refusals, 0 warnings" in printed.err


def test_a_refusal_names_file_object_field_and_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", write(tmp_path, make_cloud_profile(), GOOD, BAD)]) == 1
    line = capsys.readouterr().out.strip()
    assert line.startswith(f"{tmp_path}/objects.yaml: Shoot garden-dev/bad: refused: {FIELD}: ")
    assert line.endswith("[shoot.workers]")


def test_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-o", "json", write(tmp_path, make_cloud_profile(), BAD)]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["policy"], found["field"], found["refused"]) == ("shoot.workers", FIELD, True)


def test_as_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-o", "sarif", write(tmp_path, make_cloud_profile(), BAD)]) == 1
    log = json.loads(capsys.readouterr().out)
    (result,) = log["runs"][0]["results"]
    assert (log["version"], result["ruleId"], result["level"]) == (
        "2.1.0",
        "shoot.workers",
        "error",
    )
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert "shoot.workers" in rules


def test_a_violation_that_is_stored_already_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = write(tmp_path / "old", make_cloud_profile(), BAD)
    new = write(tmp_path / "new", BAD | {"metadata": BAD["metadata"] | {"labels": {"a": "b"}}})
    assert main(["check", new, "--against", stored]) == 0
    assert ": warning: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("admission", "code", "expected"),
    [
        pytest.param(
            {"modes": {"shoot.workers": "warn"}}, 0, ": warning: ", id="only warned about"
        ),
        pytest.param({"modes": {"shoot.workers": "off"}}, 0, "", id="switched off"),
        pytest.param(
            {"exceptions": {"garden-dev": {"shoot.workers": "off"}}}, 0, "", id="an exception"
        ),
        pytest.param(
            {"exceptions": {"garden-other": {"shoot.workers": "off"}}},
            1,
            ": refused: ",
            id="an exception for others",
        ),
    ],
)
def test_modes_of_the_settings_file_apply(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    admission: dict[str, Any],
    code: int,
    expected: str,
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump({"admission": admission}))
    manifests = write(tmp_path / "new", make_cloud_profile(), BAD)
    assert main(["check", manifests, "--config", str(settings)]) == code
    out = capsys.readouterr().out
    assert expected in out if expected else out == ""


def test_invalid_settings_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("admission: {modes: {shoot.workers: perhaps}}")
    assert main(["check", write(tmp_path / "new", GOOD), "--config", str(settings)]) == 2
    assert "admission.modes" in capsys.readouterr().err


def test_lists_are_read_and_other_kinds_skipped(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [make_cloud_profile(), BAD, 5]}
    other = {"apiVersion": "x.org/v1", "kind": "Other", "spec": 5}
    assert main(["check", write(tmp_path, other, listed)]) == 1


@pytest.mark.parametrize("spec", [5, {"provider": {"workers": 5}}, {"region": []}])
def test_malformed_manifests_are_refused(tmp_path: Path, spec: Any) -> None:
    assert main(["check", write(tmp_path, {**GOOD, "spec": spec})]) == 1


def test_an_unreadable_file_is_a_one_line_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.yaml").write_text("a: [")
    for arguments in ([str(tmp_path)], [str(tmp_path / "nowhere")], []):
        assert main(["check", *arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("shoot", "code"),
    [
        pytest.param(GOOD, 0, id="a commit of what is right passes"),
        pytest.param(BAD, 1, id="a commit of what is refused does not"),
    ],
)
def test_the_pre_commit_hook(shoot: dict[str, Any], code: int, tmp_path: Path) -> None:
    """As pre-commit runs it: the entry with the names of all changed files, of whatever kind."""
    root = Path(__file__).parents[3]
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    assert hook["require_serial"]
    for name, obj in (("profile", make_cloud_profile()), ("shoot", shoot), ("values", {"a": 1})):
        write(tmp_path, obj, name=f"{name}.yaml")
    changed = sorted(map(str, tmp_path.iterdir()))
    installed = Path(sys.executable).with_name(hook["entry"].split()[0])
    done = subprocess.run(
        [str(installed), *hook["entry"].split()[1:], *changed],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert (FIELD in done.stdout) == bool(code)
