"""A fake Tortoise on a running API server: its webhooks and its controller.

It behaves as a real one was observed to: its webhook drops unknown fields from all writes, its
controller puts whole statuses from typed structs within a tenth of a second of any change and in
bursts, and it writes its autoscaler and VPA with puts of its own.
"""

import asyncio
import base64
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
from aiohttp import web

from tests.support import tortoise_rules
from tests.support.watches import events
from webhook.kube import patches

Object = dict[str, Any]

INTERVAL = 4.0
BURST = 6
FINALIZER = "tortoise.autoscaling.mercari.com/finalizer"
USUAL = {"cpu": "100m", "memory": "480Mi"}
TORTOISES = f"/apis/{tortoise_rules.API_VERSION}"
AUTOSCALERS = "/apis/autoscaling/v2"
VPAS = "/apis/autoscaling.k8s.io/v1"
DEPLOYMENTS = "/apis/apps/v1"
SORTS = {"before": "aaa-tortoise-webhooks", "after": "tortoise-mutating-webhook-configuration"}
"""Names of its webhook configurations that sort before and after ours; a label selects one."""


def _at(api: str, namespace: str, plural: str, name: str = "") -> str:
    return "/".join(filter(None, (api, "namespaces", namespace, plural, name)))


class FakeTortoise:
    """Reconciles every Tortoise of a server until it is stopped."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._known: dict[tuple[str, str], Object] = {}
        self._changed: dict[tuple[str, str], asyncio.Event] = {}
        self.away: set[str] = set()
        """Namespaces in which its webhooks do not answer."""
        self.puts: Counter[str] = Counter()
        """How often it has put autoscalers, by namespace."""

    async def serve(self, request: web.Request) -> web.Response:
        """Answer an admission review as its webhooks do."""
        review = (await request.json())["request"]
        if review["namespace"] in self.away:
            return web.Response(status=500, text="tortoise is away")
        old, new = review["object"], json.loads(json.dumps(review["object"]))
        if request.path == "/tortoises":
            new["spec"] = tortoise_rules.defaulted(new)
        else:
            owner = self._owner(review["namespace"], review["name"])
            if owner is not None:
                tortoise_rules.set_bounds(new, owner, datetime.now(UTC))
        response: Object = {"uid": review["uid"], "allowed": True}
        if operations := patches.diff(old, new):
            encoded = base64.b64encode(json.dumps(operations).encode()).decode()
            response |= {"patch": encoded, "patchType": "JSONPatch"}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return web.json_response({**body, "response": response})

    def _owner(self, namespace: str, autoscaler: str) -> Object | None:
        for (where, _), found in self._known.items():
            targets = found.get("status", {}).get("targets", {})
            if where == namespace and targets.get("horizontalPodAutoscaler") == autoscaler:
                return found
        return None

    def configurations(self, url: str, bundle: str) -> list[Object]:
        """Return the configurations of its webhooks, which fail closed."""
        return [self._configuration(name, sorts, url, bundle) for sorts, name in SORTS.items()]

    def _configuration(self, name: str, sorts: str, url: str, bundle: str) -> Object:
        kinds = (
            ("autoscaling.mercari.com", "v1beta3", "tortoises"),
            ("autoscaling", "v2", "horizontalpodautoscalers"),
        )
        paths = ("/tortoises", "/autoscalers")
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"m{plural}.kb.io",
                    "clientConfig": {"url": f"{url}{path}", "caBundle": bundle},
                    "rules": [
                        {
                            "operations": ["CREATE", "UPDATE"],
                            "apiGroups": [group],
                            "apiVersions": [version],
                            "resources": [plural],
                        }
                    ],
                    "namespaceSelector": {"matchLabels": {"sorts": sorts}},
                    "failurePolicy": "Fail",
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                }
                for (group, version, plural), path in zip(kinds, paths, strict=True)
            ],
        }

    async def run(self) -> None:
        """Watch all Tortoises."""
        path = f"{TORTOISES}/tortoises"
        async with asyncio.TaskGroup() as tasks:
            while True:
                listed: Object = {}
                with contextlib.suppress(aiohttp.ClientError):
                    async with self._session.get(path) as response:
                        listed = await response.json()
                if "items" not in listed:
                    await asyncio.sleep(0.2)  # its CRD is being changed
                    continue
                for item in listed["items"]:
                    self._see(item, tasks)
                version = listed["metadata"]["resourceVersion"]
                # While a definition changes, watches end and are refused for a moment.
                with contextlib.suppress(aiohttp.ClientError, TimeoutError, AssertionError):
                    async for event in events(self._session, path, resourceVersion=version):
                        if event["type"] in ("ADDED", "MODIFIED"):
                            self._see(event["object"], tasks)
                        elif event["type"] == "DELETED":
                            self._forget(event["object"])

    def _see(self, tortoise: Object, tasks: asyncio.TaskGroup) -> None:
        metadata = tortoise["metadata"]
        key = (metadata["namespace"], metadata["name"])
        fresh = key not in self._changed
        self._known[key] = tortoise
        self._changed.setdefault(key, asyncio.Event()).set()
        if fresh:
            tasks.create_task(self._look_after(key))

    def _forget(self, tortoise: Object) -> None:
        key = (tortoise["metadata"]["namespace"], tortoise["metadata"]["name"])
        self._known.pop(key, None)
        if key in self._changed:
            self._changed[key].set()

    async def _look_after(self, key: tuple[str, str]) -> None:
        """Reconcile in full at each interval, and put the status after any change in between."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while key in self._known:
            left = due - loop.time()
            if left <= 0:
                with contextlib.suppress(aiohttp.ClientError):
                    await self._reconcile(key)
                due = loop.time() + INTERVAL
                continue
            changed = self._changed[key]
            with contextlib.suppress(asyncio.TimeoutError, aiohttp.ClientError):
                async with asyncio.timeout(left):
                    await changed.wait()
                    changed.clear()
                    await asyncio.sleep(0.08)
                    await self._put_status(key)
        del self._changed[key]

    async def _reconcile(self, key: tuple[str, str]) -> None:
        tortoise = self._known[key]
        if tortoise["metadata"].get("deletionTimestamp"):
            await self._leave(key)
            return
        if FINALIZER not in tortoise["metadata"].get("finalizers", ()):
            tortoise["metadata"].setdefault("finalizers", []).append(FINALIZER)
            await self._put(_at(TORTOISES, key[0], "tortoises", key[1]), tortoise)
        if tortoise.get("status", {}).get("targets"):
            steps = (self._put_autoscaler, self._put_vpa, self._put_autoscaler, self._scale)
            for step in steps:
                await step(key)
            for _ in range(BURST):
                await self._put_status(key)

    async def _leave(self, key: tuple[str, str]) -> None:
        tortoise = self._known[key]
        if tortoise["spec"].get("deletionPolicy") == "DeleteAll":
            for path in (
                _at(AUTOSCALERS, key[0], "horizontalpodautoscalers", f"tortoise-hpa-{key[1]}"),
                _at(VPAS, key[0], "verticalpodautoscalers", f"tortoise-monitor-{key[1]}"),
            ):
                async with self._session.delete(path) as response:
                    await response.read()
        kept = [name for name in tortoise["metadata"].get("finalizers", ()) if name != FINALIZER]
        tortoise["metadata"]["finalizers"] = kept
        await self._put(_at(TORTOISES, key[0], "tortoises", key[1]), tortoise)

    async def _put_status(self, key: tuple[str, str]) -> None:
        """Put the whole status from its struct, with the current replicas learned."""
        tortoise = self._known.get(key)
        if tortoise is None or not tortoise.get("status"):
            return
        status = tortoise_rules.typed_status(tortoise)
        autoscaler = await self._autoscaler(key)
        if autoscaler is not None and status.get("tortoisePhase") == "Working":
            replicas = autoscaler.get("status", {}).get("currentReplicas", 0)
            tortoise_rules.learn(status, replicas, datetime.now(UTC))
        path = f"{_at(TORTOISES, key[0], 'tortoises', key[1])}/status"
        await self._put(path, {**tortoise, "status": status})

    async def _put_autoscaler(self, key: tuple[str, str]) -> None:
        found = await self._autoscaler(key)
        tortoise = self._known.get(key)
        if found is None or tortoise is None or tortoise["spec"].get("updateMode") != "Auto":
            return
        phase = tortoise["status"].get("tortoisePhase")
        if phase == "BackToNormal":
            await self._come_back(key, found)
        else:
            # In PartlyWorking it copies the current bounds; in Working it puts its recommendation.
            tortoise_rules.set_bounds(found, tortoise, datetime.now(UTC))
        path = _at(AUTOSCALERS, key[0], "horizontalpodautoscalers", found["metadata"]["name"])
        self.puts[key[0]] += 1
        await self._put(path, found)

    async def _scale(self, key: tuple[str, str]) -> None:
        """Simulate the controller of the autoscaler: up at once, down in steps."""
        found = await self._autoscaler(key)
        if found is None:
            return
        least = found["spec"]["minReplicas"]
        there = found.get("status", {}).get("currentReplicas", 0)
        wanted = least if there <= least else max(least, there * 3 // 10)
        if wanted != there:
            found["status"] = {"currentReplicas": wanted, "desiredReplicas": least}
            name = found["metadata"]["name"]
            path = _at(AUTOSCALERS, key[0], "horizontalpodautoscalers", name)
            await self._put(f"{path}/status", found)

    async def _come_back(self, key: tuple[str, str], autoscaler: Object) -> None:
        tortoise = self._known[key]
        lower = int(autoscaler["spec"]["minReplicas"] * 0.95)
        working = {**tortoise, "status": {**tortoise["status"], "tortoisePhase": "Working"}}
        recommended = tortoise_rules.bounds(working, datetime.now(UTC))
        if recommended is not None and lower <= recommended[0]:
            tortoise["status"]["tortoisePhase"] = "Working"
            await self._put_status(key)
        else:
            autoscaler["spec"]["minReplicas"] = lower

    async def _put_vpa(self, key: tuple[str, str]) -> None:
        """Write its policy into the VPA, whose recommender honours it, and follow the target."""
        tortoise = self._known.get(key)
        path = _at(VPAS, key[0], "verticalpodautoscalers", f"tortoise-monitor-{key[1]}")
        async with self._session.get(path) as response:
            if response.status != 200 or tortoise is None:
                return
            vpa = await response.json()
        policies = tortoise_rules.container_policies(tortoise)
        vpa["spec"] = {"resourcePolicy": {"containerPolicies": policies}} if policies else {}
        await self._put(path, vpa)
        target = dict(USUAL)
        for policy in policies:
            target |= policy["minAllowed"]
        await self._give(key, tortoise, tortoise_rules.requests(target))

    async def _give(self, key: tuple[str, str], tortoise: Object, requests: Object) -> None:
        """Raise requests and restart the workload; lowering takes an hour and is not simulated."""
        conditions = tortoise["status"].setdefault("conditions", {})
        given = conditions.get("containerResourceRequests") or [{"resource": {}}]
        if not tortoise_rules.is_more(requests, given[0]["resource"]):
            return
        entry = {"containerName": "app", "resource": requests}
        conditions["containerResourceRequests"] = [entry]
        await self._put_status(key)
        restarted = {"kubectl.kubernetes.io/restartedAt": datetime.now(UTC).isoformat()}
        change = {"spec": {"template": {"metadata": {"annotations": restarted}}}}
        path = _at(DEPLOYMENTS, key[0], "deployments", key[1])
        headers = {"Content-Type": "application/merge-patch+json"}
        async with self._session.patch(path, json=change, headers=headers) as response:
            await response.read()

    async def _autoscaler(self, key: tuple[str, str]) -> Object | None:
        path = _at(AUTOSCALERS, key[0], "horizontalpodautoscalers", f"tortoise-hpa-{key[1]}")
        async with self._session.get(path) as response:
            return await response.json() if response.status == 200 else None

    async def _put(self, path: str, body: Object) -> None:
        """Put an object as it is cached; like the real one it often conflicts with itself."""
        async with self._session.put(path, json=body) as response:
            await response.read()


@contextlib.asynccontextmanager
async def running_tortoise(
    session: aiohttp.ClientSession,
    serving: Callable[[Callable[[web.Request], Awaitable[web.Response]]], Any],
    bundle: str,
) -> AsyncIterator[FakeTortoise]:
    """Serve and register its webhooks, and run its controller."""
    standin = FakeTortoise(session)
    async with serving(standin.serve) as url:
        for configuration in standin.configurations(url, bundle):
            path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
            async with session.post(path, json=configuration) as response:
                assert response.status == 201, await response.text()
        task = asyncio.create_task(standin.run())
        try:
            yield standin
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
