from datetime import UTC, datetime
from pathlib import Path

import pytest

from webhook.cli.main import main
from webhook.tls.bundle import load_directory, validate_bundle


def test_files_are_created_shown_and_rotated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--directory", str(tmp_path)]
    assert main(["certs", "create", *where, "--name", "espalier.test"]) == 0
    made = load_directory(tmp_path)
    validate_bundle(made, datetime.now(UTC))
    assert "espalier.test" in capsys.readouterr().out

    assert main(["certs", "rotate", *where]) == 0
    rotated = load_directory(tmp_path)
    validate_bundle(rotated, datetime.now(UTC))
    assert rotated.pair != made.pair
    assert rotated.authorities == made.authorities
    assert main(["certs", "show", *where]) == 0
    assert "espalier.test" in capsys.readouterr().out


def test_an_authority_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "create", "--directory", str(tmp_path)]) == 0
    assert main(["certs", "create", "--directory", str(tmp_path)]) == 2
    assert "rotate the certificate, or remove the files first" in capsys.readouterr().err


def test_a_client_certificate_is_created_on_request(tmp_path: Path) -> None:
    arguments = ["--directory", str(tmp_path), "--client", "alice", "--group", "people"]
    assert main(["certs", "create", *arguments]) == 0
    assert (tmp_path / "client.key").stat().st_mode & 0o077 == 0


def test_an_unreadable_file_is_a_one_line_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "show", "--directory", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot read" in error
