"""The client certificates for webhooks, found by host as kube-apiserver finds them."""

import base64
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from webhook.dev.apiserver.webhooks.credentials import ClientCertificate, WebhookCredentials
from webhook.dev.planes import admissionconfig
from webhook.tls.authority import KeyPair

SERVICE = "espalier.espalier-system.svc"


def pair(name: str) -> ClientCertificate:
    return ClientCertificate(f"certificate of {name}".encode(), f"key of {name}".encode())


@pytest.mark.parametrize(
    ("users", "target", "found"),
    [
        pytest.param([f"{SERVICE}:443"], f"{SERVICE}:443", 0, id="host and port"),
        pytest.param([SERVICE], f"{SERVICE}:443", 0, id="the port 443 may be omitted"),
        pytest.param([SERVICE], f"{SERVICE}:8443", None, id="any other port may not"),
        pytest.param(["127.0.0.1:9443"], "127.0.0.1:9443", 0, id="an address"),
        pytest.param(["127.0.0.1:9443"], "127.0.0.1:9444", None, id="another port"),
        pytest.param(["*.svc:443"], f"{SERVICE}:443", 0, id="a suffix"),
        pytest.param(["*.svc"], f"{SERVICE}:443", 0, id="a suffix without the port"),
        pytest.param(["*.svc"], f"{SERVICE}:8443", None, id="a suffix of another port"),
        pytest.param(["*.svc", "*.espalier-system.svc"], f"{SERVICE}:443", 1, id="the longest"),
        pytest.param(["*", SERVICE], f"{SERVICE}:443", 1, id="the host before any host"),
        pytest.param(["*"], "elsewhere:1", 0, id="any host"),
        pytest.param([], f"{SERVICE}:443", None, id="no user"),
    ],
)
def test_the_user_of_a_webhook(users: list[str], target: str, found: int | None) -> None:
    credentials = WebhookCredentials({user: pair(user) for user in users})
    expected = pair(users[found]) if found is not None else None
    assert credentials.find(target) == expected


def test_what_a_plane_writes_is_read(tmp_path: Path) -> None:
    path = admissionconfig.write(tmp_path, KeyPair(*pair("a")), ["127.0.0.1:9443"])
    credentials = WebhookCredentials.load(path)
    assert credentials.find("127.0.0.1:9443") == pair("a")
    assert credentials.find("127.0.0.1:443") is None
    assert (tmp_path / "webhooks.kubeconfig").stat().st_mode & 0o077 == 0


def test_the_documented_recipe_gives_the_service_a_certificate(tmp_path: Path) -> None:
    """The YAML of the page, with its folder moved, is read as kube-apiserver reads it."""
    page = (Path(__file__).parents[5] / "docs" / "installing.md").read_text()
    blocks = [textwrap.dedent(each) for each in re.findall(r" *```yaml\n(.*?)```", page, re.DOTALL)]
    folder = "/etc/kubernetes/espalier"
    for name, text in zip(("admission.yaml", "webhooks.kubeconfig"), blocks, strict=True):
        assert f"`{name}`:" in page
        (tmp_path / name).write_text(text.replace(folder, str(tmp_path)))
    (tmp_path / "client.crt").write_bytes(b"certificate of a")
    (tmp_path / "client.key").write_bytes(b"key of a")
    credentials = WebhookCredentials.load(tmp_path / "admission.yaml")
    assert credentials.find(f"{SERVICE}:443") == pair("a")
    plugins = yaml.safe_load(blocks[0])["plugins"]
    written = admissionconfig.write(tmp_path / "plane", KeyPair(*pair("a")), [SERVICE])
    assert [each["name"] for each in plugins] == [
        each["name"] for each in yaml.safe_load(written.read_text())["plugins"]
    ]


def test_files_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "tls.crt").write_bytes(b"certificate of a")
    key = base64.b64encode(b"key of a").decode()
    user = {"client-certificate": "tls.crt", "client-key-data": key}
    config = {
        "users": [{"name": "a", "user": user}],
        "contexts": [{"name": "c", "context": {"user": "a"}}],
        "current-context": "c",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    (folder / "webhooks.yaml").write_text("kubeConfigFile: kubeconfig\n")
    plugins = [
        {"name": "ValidatingAdmissionWebhook", "path": "files/webhooks.yaml"},
        {"name": "PodSecurity", "configuration": {}},
    ]
    path = tmp_path / "admission.yaml"
    path.write_text(yaml.safe_dump({"plugins": plugins}))
    credentials = WebhookCredentials.load(path)
    assert credentials.find("any:1") == pair("a")  # the current context is the default
