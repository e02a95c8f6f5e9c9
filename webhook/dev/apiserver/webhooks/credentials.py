"""Client certificates for webhooks, from the AdmissionConfiguration that kube-apiserver reads."""

import base64
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import yaml

_PLUGINS: Final = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
_HTTPS: Final = ":443"


class ClientCertificate(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let connections of a context present the certificate."""
        with tempfile.NamedTemporaryFile() as file:  # readable by its owner only
            file.write(self.certificate + b"\n" + self.key)
            file.flush()
            context.load_cert_chain(file.name)


class WebhookCredentials:
    """The certificates by which this API server proves to webhooks who it is.

    The kubeconfig of kube-apiserver has a user for each webhook; its name is the webhook's host.
    Both plugins share the users here.
    """

    def __init__(self, users: Mapping[str, ClientCertificate], default: str = "") -> None:
        self._users = users
        self._default = default
        """The user of the current context, for webhooks that have no user."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read an AdmissionConfiguration; raises OSError, ValueError or KeyError."""
        users: dict[str, ClientCertificate] = {}
        default = ""
        for file in dict.fromkeys(_kubeconfigs(path)):
            config = yaml.safe_load(file.read_text())
            for each in config.get("users") or ():
                users.setdefault(each["name"], _certificate(each["user"], file.parent))
            for each in config.get("contexts") or ():
                if each["name"] == config.get("current-context"):
                    default = default or each["context"].get("user", "")
        return cls(users, default)

    def find(self, target: str) -> ClientCertificate | None:
        """Return the certificate for a webhook at HOST:PORT, by the rules of kube-apiserver."""
        for name in self._names(target):
            if name in self._users:
                return self._users[name]
        return None

    def _names(self, target: str) -> Iterator[str]:
        hosts = [target]
        if target.endswith(_HTTPS):
            hosts.append(target.removesuffix(_HTTPS))
        for host in hosts:
            yield host
            labels = host.split(".")
            for index in range(1, len(labels)):
                yield ".".join(["*", *labels[index:]])
        yield "*"
        yield self._default


def _kubeconfigs(path: Path) -> Iterator[Path]:
    """Yield the kubeconfigs of the plugins that call webhooks."""
    for plugin in yaml.safe_load(path.read_text()).get("plugins") or ():
        if plugin.get("name") not in _PLUGINS:
            continue
        folder, configuration = path.parent, plugin.get("configuration")
        if configuration is None:
            file = folder / plugin["path"]
            folder, configuration = file.parent, yaml.safe_load(file.read_text())
        yield folder / configuration["kubeConfigFile"]


def _certificate(user: Mapping[str, Any], folder: Path) -> ClientCertificate:
    def read(field: str) -> bytes:
        data = user.get(f"{field}-data")
        return base64.b64decode(data) if data else (folder / user[field]).read_bytes()

    return ClientCertificate(read("client-certificate"), read("client-key"))
