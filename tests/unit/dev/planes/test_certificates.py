"""The certificates of a control plane are kept as files and reused while they are valid."""

from datetime import UTC, datetime, timedelta

import yaml

from webhook.dev.planes.access import Access
from webhook.dev.planes.certificates import Keyring, ensure_signing_key
from webhook.tls.authority import Authority


def test_valid_certificates_are_reused(tmp_path):
    first = Keyring(tmp_path, "unit")
    pair = first.server("serving").read()
    again = Keyring(tmp_path, "unit")
    assert again.authority == first.authority
    assert again.server("serving").read() == pair


def test_keys_are_readable_by_their_owner_only(tmp_path):
    keyring = Keyring(tmp_path, "unit")
    for files in (keyring.files, keyring.peer("peer"), keyring.client("admin", "admin")):
        assert files.key.stat().st_mode & 0o777 == 0o600
    assert ensure_signing_key(tmp_path / "sign.key").stat().st_mode & 0o777 == 0o600


def test_a_certificate_of_another_ca_is_replaced(tmp_path):
    keyring = Keyring(tmp_path, "unit")
    files = keyring.server("serving")
    other_ca = Authority.create("unit-ca", datetime.now(UTC))
    files.write(other_ca.sign_server(["localhost"], datetime.now(UTC)))
    before = files.read()
    assert keyring.server("serving").read() != before


def test_a_certificate_that_expires_soon_is_replaced(tmp_path):
    keyring = Keyring(tmp_path, "unit")
    files = keyring.server("serving")
    long_ago = datetime.now(UTC) - timedelta(days=300)
    files.write(keyring.authority.sign_server(["localhost"], long_ago))
    before = files.read()
    assert keyring.server("serving").read() != before


def test_a_certificate_without_its_key_is_replaced(tmp_path):
    keyring = Keyring(tmp_path, "unit")
    files = keyring.client("admin", "admin")
    before = files.certificate.read_bytes()
    files.key.unlink()
    assert keyring.client("admin", "admin").read().certificate != before


def test_a_signing_key_is_reused(tmp_path):
    before = ensure_signing_key(tmp_path / "sign.key").read_bytes()
    assert ensure_signing_key(tmp_path / "sign.key").read_bytes() == before


def test_a_kubeconfig_is_self_contained_and_readable_by_its_owner_only(tmp_path):
    keyring = Keyring(tmp_path, "unit")
    client = keyring.client("admin", "admin", ["system:masters"])
    access = Access.read("https://127.0.0.1:6443", keyring.files.certificate, client)
    path = access.write_kubeconfig(tmp_path / "kubeconfig")
    assert path.stat().st_mode & 0o777 == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert config["current-context"] == config["contexts"][0]["name"]
    assert str(tmp_path) not in path.read_text()
