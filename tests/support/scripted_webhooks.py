"""Webhooks with scripted responses that record the reviews they receive."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web

from tests.support.tls_server import tls_server
from tests.support.waits import eventually
from webhook.dev.planes.certificates import Keyring

Object = dict[str, Any]
Answer = Callable[[Object], web.Response | Awaitable[web.Response]]

API = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "mutating": "MutatingWebhookConfiguration",
    "validating": "ValidatingWebhookConfiguration",
}


def reviewed(review: Object, **response: Any) -> web.Response:
    """Return a response that allows the request, unless `response` has another verdict."""
    uid = review["request"]["uid"]
    return web.json_response(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": True, **response},
        }
    )


def allow(review: Object) -> web.Response:
    return reviewed(review)


def deny(review: Object) -> web.Response:
    status = {"code": 403, "reason": "Forbidden", "message": "not today"}
    return reviewed(review, allowed=False, status=status)


def patching(*operations: Object) -> Answer:
    """Return a script that answers with a patch."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda review: reviewed(review, patch=patch, patchType="JSONPatch")


class ScriptedWebhooks:
    """A webhook server, and its configurations on the API server under test."""

    def __init__(self, session: aiohttp.ClientSession, url: str, bundle: str) -> None:
        self._session = session
        self._answers: dict[str, Answer] = {"/probe": allow}
        self._configured: list[str] = []
        self.url = url
        self.bundle = bundle
        self.label = uuid4().hex[:8]
        """The value of the label `hook` on objects that the webhooks match."""
        self.received: list[tuple[str, Object, dict[str, str]]] = []

    def on(self, path: str, answer: Answer) -> None:
        """Set the response of a path."""
        self._answers[path] = answer

    def requests(self, path: str) -> list[Object]:
        """Return the requests that a path received."""
        return [review["request"] for called, review, _ in self.received if called == path]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        review = json.loads(await request.read())
        self.received.append((request.path, review, dict(request.query)))
        answer = self._answers[request.path](review)
        return answer if isinstance(answer, web.Response) else await answer

    def hook(self, path: str, **changes: Any) -> Object:
        """Return a webhook for ConfigMaps with the test's label."""
        return {
            "name": f"{path.strip('/')}.hooks.example.com",
            "clientConfig": {"url": f"{self.url}{path}", "caBundle": self.bundle},
            "rules": [self.rule()],
            "objectSelector": {"matchLabels": {"hook": self.label}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 20,
            **changes,
        }

    def rule(self, **changes: Any) -> Object:
        return {
            "operations": ["*"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            **changes,
        }

    async def configure(self, kind: str, *hooks: Object, name: str = "") -> str:
        """Create a configuration, and wait until a probe proves that the server uses it."""
        name = f"{name or 'test'}-{uuid4().hex[:8]}"
        path = f"{API}/{KINDS[kind].lower()}s"
        probe = self.hook("/probe", objectSelector={"matchLabels": {"probe": name}})
        # The server starts to use a configuration as a whole, so one probe is enough.
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": KINDS[kind],
            "metadata": {"name": name},
            "webhooks": [*hooks, probe],
        }
        async with self._session.post(path, json=configuration) as response:
            assert response.status == 201, await response.text()
        self._configured.append(f"{path}/{name}")
        await self._until_live(name)
        return name

    async def _until_live(self, name: str) -> None:
        probe = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "probe", "labels": {"probe": name}},
        }
        path = "/api/v1/namespaces/default/configmaps?dryRun=All"
        before = len(self.requests("/probe"))

        async def is_asked() -> bool:
            async with self._session.post(path, json=probe) as response:
                return response.status == 201 and len(self.requests("/probe")) > before

        await eventually(is_asked)

    async def remove(self) -> None:
        """Remove the configurations."""
        for path in self._configured:
            async with self._session.delete(path) as response:
                await response.read()


@contextlib.asynccontextmanager
async def serving(
    session: aiohttp.ClientSession, directory: Path, *names: str
) -> AsyncIterator[ScriptedWebhooks]:
    """Serve webhooks over TLS, also under other host names, while the block runs."""
    keyring = Keyring(directory, "hooks")
    hooks = ScriptedWebhooks(session, "", "")
    async with tls_server(keyring, hooks.serve, *names) as hooks.url:
        hooks.bundle = base64.b64encode(keyring.files.certificate.read_bytes()).decode()
        try:
            yield hooks
        finally:
            await hooks.remove()
