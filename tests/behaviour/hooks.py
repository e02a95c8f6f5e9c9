"""Webhooks of a test's own: what they answer is scripted, what they were asked is recorded."""

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web

from tests.waiting import eventually
from webhook.planes.credentials import LOOPBACK, Keyring

Object = dict[str, Any]
Answer = Callable[[Object], web.Response | Awaitable[web.Response]]

API = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "mutating": "MutatingWebhookConfiguration",
    "validating": "ValidatingWebhookConfiguration",
}


def reviewed(review: Object, **response: Any) -> web.Response:
    """Allow, unless the response says otherwise."""
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
    """Answer with a patch."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda review: reviewed(review, patch=patch, patchType="JSONPatch")


class Hooks:
    """A webhook server, and its configurations on the API server under test."""

    def __init__(self, session: aiohttp.ClientSession, url: str, bundle: str) -> None:
        self._session = session
        self._answers: dict[str, Answer] = {"/probe": allow}
        self._configured: list[str] = []
        self.url = url
        self.bundle = bundle
        self.label = uuid4().hex[:8]
        """Objects with the label `hook` of this value are those that concern the test."""
        self.asked: list[tuple[str, Object, dict[str, str]]] = []

    def on(self, path: str, answer: Answer) -> None:
        """Script the answer of a path."""
        self._answers[path] = answer

    def requests(self, path: str) -> list[Object]:
        """Return what was asked at a path."""
        return [review["request"] for asked, review, _ in self.asked if asked == path]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        review = json.loads(await request.read())
        self.asked.append((request.path, review, dict(request.query)))
        answer = self._answers[request.path](review)
        return answer if isinstance(answer, web.Response) else await answer

    def hook(self, path: str, **changes: Any) -> Object:
        """Describe a webhook for config maps with the test's label."""
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
        """Create a configuration, and wait until a probe proves that the server heeds it."""
        name = f"{name or 'test'}-{uuid4().hex[:8]}"
        path = f"{API}/{KINDS[kind].lower()}s"
        probe = self.hook("/probe", objectSelector={"matchLabels": {"probe": name}})
        # The whole configuration counts from the same moment on, so one webhook can tell.
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
) -> AsyncIterator[Hooks]:
    """Serve webhooks over TLS, under further names, as long as the context lasts."""
    keyring = Keyring(directory, "hooks")
    files = await asyncio.to_thread(keyring.server, "hooks", (*LOOPBACK, *names))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    await asyncio.to_thread(context.load_cert_chain, files.certificate, files.key)
    bundle = base64.b64encode(keyring.files.certificate.read_bytes()).decode()
    hooks = Hooks(session, "", bundle)
    application = web.Application(client_max_size=8 * 1024 * 1024)
    application.router.add_post("/{path:.*}", hooks.serve)
    # Who hangs is let go when the API server hangs up.
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    hooks.url = f"https://127.0.0.1:{port}"
    try:
        yield hooks
    finally:
        await hooks.remove()
        # The API server keeps its connections open; the loop may not end before they do.
        for connection in runner.server.connections if runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
        await asyncio.sleep(0)
