from datetime import UTC, datetime
from pathlib import Path

import pytest

from webhook.cli.main import main
from webhook.tls.bundle import check, load_directory


def test_files_are_made_shown_and_rotated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--directory", str(tmp_path)]
    assert main(["certs", "create", *where, "--name", "espalier.test"]) == 0
    made = load_directory(tmp_path)
    check(made, datetime.now(UTC))
    assert "espalier.test" in capsys.readouterr().out

    assert main(["certs", "rotate", *where]) == 0
    rotated = load_directory(tmp_path)
    check(rotated, datetime.now(UTC))
    assert rotated.pair != made.pair
    assert rotated.authorities == made.authorities
    assert main(["certs", "show", *where]) == 0
    assert "espalier.test" in capsys.readouterr().out


def test_an_authority_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "create", "--directory", str(tmp_path)]) == 0
    assert main(["certs", "create", "--directory", str(tmp_path)]) == 2
    assert "rotate it or remove it first" in capsys.readouterr().err


def test_a_client_certificate_comes_along(tmp_path: Path) -> None:
    arguments = ["--directory", str(tmp_path), "--client", "alice", "--group", "people"]
    assert main(["certs", "create", *arguments]) == 0
    assert (tmp_path / "client.key").stat().st_mode & 0o077 == 0


def test_what_cannot_be_read_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "show", "--directory", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot read" in error
