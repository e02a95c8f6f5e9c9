"""Sources of the client configuration: kubeconfigs, exec plugins, service accounts."""

import base64
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook.cluster import config
from webhook.cluster.config import REFRESH_SECONDS, Access, ConfigError
from webhook.tls.authority import Authority

AUTHORITY = Authority.create("test", datetime.now(UTC))
INSIDE = "kubernetes_asyncio.config.incluster_config"


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(user: dict[str, Any], name: str = "kubeconfig", **cluster: Any) -> str:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [
                {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "mine"}},
                {"name": "there", "context": {"cluster": "d", "user": "u"}},
            ],
            "clusters": [
                {"name": "c", "cluster": {"server": "https://127.0.0.1:6443/"} | cluster},
                {"name": "d", "cluster": {"server": "https://127.0.0.2:6443"}},
            ],
            "users": [{"name": "u", "user": user}],
        }
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(document))
        return str(path)

    return write


def write_plugin(path: Path, status: dict[str, Any]) -> dict[str, Any]:
    """Make a plugin that counts its runs in a file and puts the count into its token."""
    path.write_text(
        f"""
import json, pathlib
count = pathlib.Path({str(path)!r} + ".count")
runs = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(runs))
status = {status!r}
if "token" in status:
    status["token"] += str(runs)
print(json.dumps({{
    "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status
}}))
"""
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(path)],
        }
    }


def token_of(credentials: config.Credentials) -> str:
    return credentials.headers.get("Authorization", "")


async def test_the_given_kubeconfig_comes_first(write, monkeypatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    access = await config.load(write({"token": "secret"}))
    assert (access.host, access.namespace) == ("https://127.0.0.1:6443", "mine")
    assert token_of(await access.credentials()) == "Bearer secret"


async def test_then_the_environment_variable_counts(write, monkeypatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBECONFIG", write({"token": "secret"}))
    assert (await config.load()).host == "https://127.0.0.1:6443"


async def test_the_home_directory_comes_last(write) -> None:
    write({"token": "secret"}, ".kube/config")
    assert (await config.load()).host == "https://127.0.0.1:6443"


async def test_a_context_may_be_chosen(write) -> None:
    access = await config.load(write({"token": "secret"}), "there")
    assert (access.host, access.namespace) == ("https://127.0.0.2:6443", "")


async def test_certificates_of_both_sides_are_used(write) -> None:
    pair = AUTHORITY.sign_client("ada", datetime.now(UTC), ("staff",))
    user = {
        "client-certificate-data": encode(pair.certificate),
        "client-key-data": encode(pair.key),
    }
    path = write(user, **{"certificate-authority-data": encode(AUTHORITY.certificate)})
    credentials = await (await config.load(path)).credentials()
    assert token_of(credentials) == ""
    assert credentials.context is not None
    assert credentials.context.cert_store_stats()["x509_ca"] == 1
    assert credentials.context.check_hostname


async def test_verification_is_off_only_if_the_kubeconfig_turns_it_off(write) -> None:
    path = write({"token": "x"}, **{"insecure-skip-tls-verify": True, "tls-server-name": "kube"})
    access = await config.load(path)
    credentials = await access.credentials()
    assert credentials.context is not None
    assert not credentials.context.check_hostname
    assert access.server_name == "kube"


async def test_a_proxy_is_taken_from_the_kubeconfig_or_the_environment(write, monkeypatch) -> None:
    assert (await config.load(write({"token": "x"}))).proxy is None
    access = await config.load(write({"token": "x"}, **{"proxy-url": "http://proxy:3128"}))
    assert access.proxy == "http://proxy:3128"
    monkeypatch.setenv("HTTPS_PROXY", "http://other:3128")
    assert (await config.load(write({"token": "x"}))).proxy == "http://other:3128"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert (await config.load(write({"token": "x"}))).proxy is None


def age(access: Access) -> None:
    """Make the credentials old enough to be read again."""
    access._read_at -= REFRESH_SECONDS + 1


async def test_a_token_file_is_read_again_when_it_has_aged(write, tmp_path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    access = await config.load(write({"tokenFile": str(token)}))
    token.write_text("second")
    assert token_of(await access.credentials()) == "Bearer first"
    age(access)
    assert token_of(await access.credentials()) == "Bearer second"


async def test_an_unchanged_certificate_keeps_its_context_and_a_new_one_gets_its_own(
    write, tmp_path
) -> None:
    certificate, key = tmp_path / "crt", tmp_path / "key"

    def issue() -> None:
        pair = AUTHORITY.sign_client("ada", datetime.now(UTC))
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)

    issue()
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    access = await config.load(write(user))
    first = await access.credentials()
    age(access)
    again = await access.credentials()
    assert again is not first
    assert again.context is first.context
    issue()
    age(access)
    assert (await access.credentials()).context is not first.context


async def test_a_plugin_runs_again_only_when_its_token_is_about_to_expire(write, tmp_path) -> None:
    lasting = {"token": "long-", "expirationTimestamp": "2099-01-01T00:00:00Z"}
    access = await config.load(write(write_plugin(tmp_path / "a.py", lasting)))
    age(access)
    assert token_of(await access.credentials()) == "Bearer long-1"
    ending = {"token": "short-", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    access = await config.load(write(write_plugin(tmp_path / "b.py", ending)))
    age(access)
    assert token_of(await access.credentials()) == "Bearer short-2"


async def test_a_plugin_whose_token_is_refused_runs_again(write, tmp_path) -> None:
    access = await config.load(write(write_plugin(tmp_path / "p.py", {"token": "t-"})))
    first = await access.credentials()
    age(access)
    assert token_of(await access.credentials()) == "Bearer t-1"
    second = await access.renew(await access.credentials())
    assert token_of(second) == "Bearer t-2"
    # Many requests are refused at once, but the plugin runs once.
    assert await access.renew(first) is second


async def test_a_pod_uses_its_service_account(monkeypatch, tmp_path) -> None:
    token, authority, namespace = tmp_path / "token", tmp_path / "ca.crt", tmp_path / "namespace"
    token.write_text("mounted\n")
    authority.write_bytes(AUTHORITY.certificate)
    namespace.write_text("espalier-system\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(f"{INSIDE}.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(f"{INSIDE}.SERVICE_CERT_FILENAME", str(authority))
    monkeypatch.setattr(config, "_NAMESPACE_FILE", namespace)
    access = await config.load()
    assert (access.host, access.namespace) == ("https://[fd00::1]:443", "espalier-system")
    assert token_of(await access.credentials()) == "Bearer mounted"
    token.write_text("projected anew")
    age(access)
    assert token_of(await access.credentials()) == "Bearer projected anew"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="no file"),
        pytest.param("", id="an empty file"),
        pytest.param("{", id="broken YAML"),
        pytest.param("just: text", id="another file"),
        pytest.param("[1, 2]", id="a list"),
        pytest.param(
            json.dumps({"current-context": "x", "contexts": [], "clusters": [], "users": []}),
            id="a missing context",
        ),
        pytest.param(
            json.dumps(
                {
                    "current-context": "x",
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "clusters": [
                        {
                            "name": "c",
                            "cluster": {
                                "server": "https://a",
                                "certificate-authority": "/does/not/exist",
                            },
                        }
                    ],
                    "users": [{"name": "u", "user": {}}],
                }
            ),
            id="a missing CA file",
        ),
    ],
)
async def test_a_broken_kubeconfig_is_one_line_with_the_remedy(
    content: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        await config.load(str(path))
    message = str(caught.value)
    assert message.startswith(f"kubeconfig {path} does not work: ")
    assert message.endswith("; name a working kubeconfig with --kubeconfig or KUBECONFIG")
    assert "\n" not in message


async def test_a_missing_plugin_is_named(write) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/plugin"}}
    with pytest.raises(ConfigError, match="/no/plugin"):
        await config.load(write(user))


async def test_a_pod_without_a_service_account_is_reported(monkeypatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ConfigError, match="the pod's service account does not work: "):
        await config.load()
