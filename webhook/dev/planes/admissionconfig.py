"""The AdmissionConfiguration by which an API server presents a client certificate to webhooks."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from webhook.dev.planes.certificates import write_secret
from webhook.kube.meta import Draft
from webhook.tls.authority import KeyPair

FLAG: Final = "--admission-control-config-file"
USER: Final = "kube-apiserver"
"""The common name of the certificate that API servers present to webhooks."""
EVERY_HOST: Final = ("*",)

_PLUGINS: Final = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")


def write(directory: Path, client: KeyPair, hosts: Sequence[str]) -> Path:
    """Write the configuration and its kubeconfig, which has a user for each host of a webhook."""
    directory.mkdir(parents=True, exist_ok=True)
    kubeconfig = directory / "webhooks.kubeconfig"
    write_secret(kubeconfig, yaml.safe_dump(_kubeconfig(client, hosts), sort_keys=False).encode())
    path = directory / "admission.yaml"
    path.write_text(yaml.safe_dump(_configuration(kubeconfig), sort_keys=False))
    return path


def _configuration(kubeconfig: Path) -> Draft:
    webhooks = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": plugin, "configuration": webhooks} for plugin in _PLUGINS],
    }


def _kubeconfig(client: KeyPair, hosts: Sequence[str]) -> Draft:
    user = {
        "client-certificate-data": base64.b64encode(client.certificate).decode(),
        "client-key-data": base64.b64encode(client.key).decode(),
    }
    users = [{"name": host, "user": user} for host in hosts]
    return {"apiVersion": "v1", "kind": "Config", "users": users}
