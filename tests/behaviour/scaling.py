"""A server with Tortoise's stand-in and two replicas of ours, and shops in namespaces on it."""

import asyncio
import base64
import contextlib
import itertools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests import tortoise as rules
from tests.behaviour.tortoises import AUTOSCALERS, TORTOISES, VPAS, StandIn, playing
from tests.behaviour.watching import seen
from tests.faults.proxy import Proxy, proxy
from tests.faults.replicas import Replica
from tests.waiting import eventually
from webhook.api import names
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling
from webhook.api.timestamps import format_time
from webhook.domain import notes
from webhook.planes.credentials import Keyring

Object = dict[str, Any]

GROUP = "/apis/autoscaling.mercari.com/v1alpha1"
ACCOUNT = "system:serviceaccount:espalier-system:espalier"
SKEWS = (0.5, -0.5)
PASSING = (429, 500, 502, 503, 504)
"""What is answered while a server, or a webhook of ours or Tortoise's, is short of time."""
MEMORY = "5Gi"
POLICY = {"containerName": "app", "minAllocatedResources": {"memory": "1Gi"}}


def _properties(fields: tuple[str, ...], **known: Object) -> Object:
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    return {
        "type": "object",
        "properties": {**{name: dict(anything) for name in fields}, **known},
    }


def tortoise_definition() -> Object:
    """Tortoise's own definition, which prunes what it does not know."""
    recommendations = _properties(rules.RECOMMENDATIONS)
    schema = {
        "type": "object",
        "properties": {
            "spec": _properties(rules.SPEC),
            "status": _properties(rules.STATUS, recommendations=recommendations),
        },
    }
    return _definition("autoscaling.mercari.com", "v1beta3", "Tortoise", schema)


def _definition(group: str, version: str, kind: str, schema: Object) -> Object:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **({"subresources": {"status": {}}} if kind == "Tortoise" else {}),
                }
            ],
        },
    }


VPA = _definition(
    "autoscaling.k8s.io",
    "v1",
    "VerticalPodAutoscaler",
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)


class Shop:
    """A namespace with a workload, its Tortoise and what that makes."""

    def __init__(self, estate: "Estate", name: str, sorts: str) -> None:
        self.estate, self.namespace, self.sorts = estate, name, sorts
        self.session = estate.session

    def _path(self, api: str, plural: str, name: str = "") -> str:
        return "/".join(filter(None, (api, "namespaces", self.namespace, plural, name)))

    async def kubectl(self, *arguments: str, **more: Any) -> Any:
        return await self.estate.server.kubectl(*arguments, "-n", self.namespace, **more)

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Object:
        """Send a request, again where a server or its webhooks were short of time."""

        async def answer() -> Object:
            async with self.session.request(method, path, json=body, **more) as response:
                if response.status in PASSING:
                    return {}
                assert response.status < 300, await response.text()
                found: Object = await response.json()
                return found

        answered: Object = await eventually(answer)
        return answered

    async def patch(self, path: str, change: Any) -> Object:
        headers = {"Content-Type": "application/merge-patch+json"}
        return await self.call("PATCH", path, change, headers=headers)

    def manifest(self, **spec: Any) -> Object:
        """Write the Tortoise as its user does."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cute"}
        return {
            "apiVersion": rules.API_VERSION,
            "kind": "Tortoise",
            "metadata": {"name": "cute", "namespace": self.namespace},
            "spec": {"targetRefs": {"scaleTargetRef": target}, "updateMode": "Auto", **spec},
        }

    async def open(self, phase: str = "Working", minimum: int = 3, **spec: Any) -> None:
        """Put up a workload with a Tortoise that has been at work for a while."""
        labels = {"sorts": self.sorts}
        namespace = {"metadata": {"name": self.namespace, "labels": labels}}
        await self.call("POST", "/api/v1/namespaces", namespace)
        container = {"name": "app", "image": "app"}
        template = {"metadata": {"labels": {"app": "cute"}}, "spec": {"containers": [container]}}
        deployment = {"selector": {"matchLabels": {"app": "cute"}}, "template": template}
        body: Object = {"metadata": {"name": "cute"}, "spec": {**deployment, "replicas": 0}}
        await self.call("POST", self._path("/apis/apps/v1", "deployments"), body)
        bounds = {"minReplicas": minimum, "maxReplicas": 100 if phase != "Working" else 20}
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cute"}
        body = {"metadata": {"name": "tortoise-hpa-cute"}}
        body["spec"] = {**bounds, "scaleTargetRef": target}
        await self.call("POST", self._path(AUTOSCALERS, "horizontalpodautoscalers"), body)
        body = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"}
        body |= {"metadata": {"name": "tortoise-monitor-cute"}, "spec": {}}
        await self.call("POST", self._path(VPAS, "verticalpodautoscalers"), body)
        await self.come(phase, minimum, **spec)

    async def come(self, phase: str = "Working", minimum: int = 3, **spec: Any) -> None:
        """Make the Tortoise, with what it has learned."""
        path = self._path(TORTOISES, "tortoises")
        learned = rules.learned(min(minimum, 10))
        status = {
            "tortoisePhase": phase,
            "targets": {"horizontalPodAutoscaler": "tortoise-hpa-cute"},
            "recommendations": learned,
            "conditions": {},
        }
        await self.call("POST", path, self.manifest(**spec))
        await self.patch(f"{path}/cute/status", {"status": status})

    async def schedule(
        self, name: str = "campaign", after: float = 4, seconds: float = 60, replicas: int = 50
    ) -> None:
        """Ask for floors from soon on, for a short while."""
        start = datetime.now(UTC) + timedelta(seconds=after)
        floor = {"containerName": "app", "resources": {"memory": MEMORY}}
        static = {"minimumMinReplicas": replicas, "minAllocatedResources": [floor]}
        window = {
            "startAt": format_time(start),
            "finishAt": format_time(start + timedelta(seconds=seconds)),
        }
        body = {
            "apiVersion": "autoscaling.mercari.com/v1alpha1",
            "kind": "ScheduledScaling",
            "metadata": {"name": name},
            "spec": {
                "targetRefs": {"tortoiseName": "cute"},
                "strategy": {"static": static},
                "schedule": window,
            },
        }
        await self.call("POST", self._path(GROUP, "scheduledscalings"), body)

    async def until(
        self, api: str, plural: str, holds: Callable[[Object], object], seconds: float = 100
    ) -> Object:
        """Wait until something holds of the one object of its kind in the shop."""
        last: Object = {}

        def one(state: Any) -> bool:
            last.clear()
            last.update(next(iter(state.values()), {}))
            return bool(last) and bool(holds(last))

        try:
            await seen(self.session, self._path(api, plural), one, seconds)
        except TimeoutError:
            raise AssertionError(f"{self.namespace}: it did not come to that: {last}") from None
        return last

    async def until_bounds(self, least: int, most: int, seconds: float = 100) -> Object:
        def shown(autoscaler: Object) -> bool:
            spec = autoscaler["spec"]
            return (spec["minReplicas"], spec["maxReplicas"]) == (least, most)

        return await self.until(AUTOSCALERS, "horizontalpodautoscalers", shown, seconds)

    async def until_tortoise(
        self, holds: Callable[[Object], object], seconds: float = 100
    ) -> Object:
        return await self.until(TORTOISES, "tortoises", holds, seconds)

    async def until_condition(self, kind: str, status: str, reason: str) -> Object:
        def said(scaling: Object) -> bool:
            found = scaling.get("status", {}).get("conditions", [])
            return (kind, status, reason) in [
                (each["type"], each["status"], each["reason"]) for each in found
            ]

        return await self.until(GROUP, "scheduledscalings", said)

    async def until_phase(self, phase: str) -> Object:
        def reached(scaling: Object) -> bool:
            return bool(scaling.get("status", {}).get("phase") == phase)

        return await self.until(GROUP, "scheduledscalings", reached)

    async def until_allowed(self, memory: str | None) -> Object:
        """Wait for what the VPA is told to give at least."""

        def told(vpa: Object) -> bool:
            policies = vpa["spec"].get("resourcePolicy", {}).get("containerPolicies", [])
            found = policies[0]["minAllowed"].get("memory") if policies else None
            return bool(found == memory)

        return await self.until(VPAS, "verticalpodautoscalers", told)

    async def until_clean(self, spec: Object | None = None, seconds: float = 100) -> None:
        """Wait until nothing of ours is left on the Tortoise and its autoscaler."""

        def is_clean(obj: Object) -> bool:
            written = obj["metadata"].get("annotations", {})
            recommendations = obj.get("status", {}).get("recommendations", {})
            return (
                notes.ANNOTATION not in written
                and names.SCALING_FLOORS not in written
                and "recommenders" not in obj["spec"]
                and "constraints" not in recommendations
                and (spec is None or {**obj["spec"], **spec} == obj["spec"])
                and (spec is not None or "resourcePolicy" not in obj["spec"])
            )

        await self.until_tortoise(is_clean, seconds)

        def is_free(obj: Object) -> bool:
            return notes.ANNOTATION not in obj["metadata"].get("annotations", {})

        await self.until(AUTOSCALERS, "horizontalpodautoscalers", is_free, seconds)

    async def until_put(self, times: int) -> None:
        """Wait until Tortoise has put its autoscaler so many times more."""
        standin = self.estate.standin
        assert standin is not None
        last = standin.puts[self.namespace] + times

        async def put() -> bool:
            return standin.puts[self.namespace] >= last

        await eventually(put, 90)

    async def until_unlabelled(self, seconds: float = 100) -> None:
        def bare(state: Any) -> bool:
            labels = state[self.namespace]["metadata"].get("labels", {})
            return names.SCALING_NAMESPACE not in labels

        await seen(self.session, "/api/v1/namespaces", bare, seconds)

    async def slots(self) -> Object:
        tortoise = await self.call("GET", self._path(TORTOISES, "tortoises", "cute"))
        found: Object = tortoise["status"]["recommendations"]["horizontal"]
        return found


class Estate:
    """Everything that scenarios share on one server."""

    def __init__(self, server: Any, session: aiohttp.ClientSession, directory: Path) -> None:
        self.server, self.session, self.directory = server, session, directory
        self.standin: StandIn | None = None
        self.replicas: list[Replica] = []
        self.ways: list[Proxy] = []
        self.recorded = asyncio.Event()
        """Set once Tortoise's definition has the fields of the record."""
        self.start: Callable[[int, float], Awaitable[Replica]] = _nobody
        self._turns: Iterator[int] = itertools.count()
        self._numbers = itertools.count(1)

    def shop(self, name: str, sorts: str = "after") -> Shop:
        return Shop(self, f"{name}-{next(self._numbers)}", sorts)

    async def balance(self, request: web.Request) -> web.Response:
        """Bring each review to another replica, or to the one that lives."""
        body = await request.read()
        living = [each for each in self.replicas if each.process.returncode is None]
        first = next(self._turns)
        for place in range(len(living)):
            replica = living[(first + place) % len(living)]
            url = f"https://127.0.0.1:{replica.port}{request.path_qs}"
            with contextlib.suppress(aiohttp.ClientError):
                async with self.session.post(
                    url, data=body, ssl=False, headers={"Content-Type": "application/json"}
                ) as answer:
                    return web.Response(
                        status=answer.status,
                        body=await answer.read(),
                        content_type="application/json",
                    )
        return web.Response(status=503)


async def _nobody(_number: int, _skew: float) -> Replica:
    raise AssertionError("the estate is not put up yet")


@contextlib.asynccontextmanager
async def serving(
    keyring: Keyring, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> AsyncIterator[str]:
    """Serve over TLS with a certificate that API servers are told to trust."""
    files = await asyncio.to_thread(keyring.server, "hooks")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    await asyncio.to_thread(context.load_cert_chain, files.certificate, files.key)
    application = web.Application(client_max_size=8 * 1024 * 1024)
    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        for connection in runner.server.connections if runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def estate(server: Any, directory: Path) -> AsyncIterator[Estate]:
    """Put up Tortoise and two replicas of ours with clocks that differ, behind one address."""
    keyring = Keyring(directory / "hooks", "hooks")
    files = await asyncio.to_thread(keyring.server, "hooks")
    bundle = base64.b64encode(keyring.files.certificate.read_bytes()).decode()
    certificates = directory / "certificates"
    certificates.mkdir()
    for name, path in (("tls.crt", files.certificate), ("tls.key", files.key)):
        (certificates / name).write_bytes(path.read_bytes())
    (certificates / "ca.crt").write_bytes(keyring.files.certificate.read_bytes())
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        context = await asyncio.to_thread(server.admin.context)
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        session = await enter(aiohttp.ClientSession(server.url, connector=connector))
        await _define(server)
        found = Estate(server, session, directory)
        found.standin = await enter(
            playing(session, lambda answer: serving(keyring, answer), bundle)
        )
        url = await enter(serving(keyring, found.balance))
        groups = ["system:masters"]
        access = await asyncio.to_thread(server.apiserver.access, ACCOUNT, groups)

        async def start(number: int, skew: float) -> Replica:
            way = await enter(proxy(server, directory, f"way-{number}", access))
            replica = _replica(number, skew, directory, way, url, certificates)
            found.ways.append(way)
            await replica.start()
            found.replicas.append(replica)
            await replica.until_ready()
            return replica

        found.start = start
        try:
            for number, skew in enumerate(SKEWS):
                await start(number, skew)
            await server.kubectl(
                *("wait", "--for=create", "--timeout=120s"),
                "mutatingwebhookconfiguration/espalier",
            )
            yield found
        finally:
            for replica in found.replicas:
                if replica._process is not None and replica.process.returncode is None:
                    replica.process.kill()
                    await replica.process.wait()


def _replica(
    number: int, skew: float, directory: Path, way: Proxy, url: str, certificates: Path
) -> Replica:
    flags = [
        *("--manage-webhooks", "true", "--advertise-url", url),
        *("--certificate-directory", str(certificates)),
        *("--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "0.5"),
    ]
    program = ("-m", "tests.skewed", str(skew))
    return Replica(f"replica-{number}", directory, way.kubeconfig, *flags, program=program)


async def _define(server: Any) -> None:
    own = crd(kind_of_model(ScheduledScaling), beside_gardener=False)
    items = [own, tortoise_definition(), VPA]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    await server.kubectl("apply", "--server-side", "-f", "-", input=listed)
    found = [f"crd/{item['metadata']['name']}" for item in items]
    await server.kubectl("wait", "--for=condition=Established", "--timeout=120s", *found)
