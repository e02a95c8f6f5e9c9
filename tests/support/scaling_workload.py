"""A workload with a Tortoise on an API server, and waits for its state."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.support import tortoise_rules
from tests.support.fake_tortoise import AUTOSCALERS, TORTOISES, VPAS
from tests.support.waits import eventually
from tests.support.watches import seen
from webhook.api import names
from webhook.domain.scaling import raised_values
from webhook.kube.timestamps import format_time

if TYPE_CHECKING:
    from tests.support.scaling_cluster import ScalingCluster

Object = dict[str, Any]

GROUP = "/apis/autoscaling.mercari.com/v1alpha1"
PASSING = (429, 500, 502, 503, 504)
"""Status codes of a server or a webhook that is short of time."""
MEMORY = "5Gi"
POLICY = {"containerName": "app", "minAllocatedResources": {"memory": "1Gi"}}


class Workload:
    """A namespace with a workload, its Tortoise and the objects that Tortoise creates."""

    def __init__(self, scaling_cluster: "ScalingCluster", name: str, sorts: str) -> None:
        self.scaling_cluster, self.namespace, self.sorts = scaling_cluster, name, sorts
        self.session = scaling_cluster.session

    def _path(self, api: str, plural: str, name: str = "") -> str:
        return "/".join(filter(None, (api, "namespaces", self.namespace, plural, name)))

    async def kubectl(self, *arguments: str, **more: Any) -> Any:
        return await self.scaling_cluster.server.kubectl(*arguments, "-n", self.namespace, **more)

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Object:
        """Send a request, again if a server or its webhooks were short of time."""

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
        """Return the Tortoise as its user writes it."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cute"}
        return {
            "apiVersion": tortoise_rules.API_VERSION,
            "kind": "Tortoise",
            "metadata": {"name": "cute", "namespace": self.namespace},
            "spec": {"targetRefs": {"scaleTargetRef": target}, "updateMode": "Auto", **spec},
        }

    async def open(self, phase: str = "Working", minimum: int = 3, **spec: Any) -> None:
        """Create a workload with a Tortoise that has been running for a while."""
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
        await self.create_tortoise(phase, minimum, **spec)

    async def create_tortoise(self, phase: str = "Working", minimum: int = 3, **spec: Any) -> None:
        """Create the Tortoise, with what it has learned."""
        path = self._path(TORTOISES, "tortoises")
        learned = tortoise_rules.learned(min(minimum, 10))
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
        """Create a schedule whose window opens soon and is short."""
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
        """Wait until a condition holds for the only object of its kind in the namespace."""
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
        def has_condition(scaling: Object) -> bool:
            found = scaling.get("status", {}).get("conditions", [])
            return (kind, status, reason) in [
                (each["type"], each["status"], each["reason"]) for each in found
            ]

        return await self.until(GROUP, "scheduledscalings", has_condition)

    async def until_phase(self, phase: str) -> Object:
        def reached(scaling: Object) -> bool:
            return bool(scaling.get("status", {}).get("phase") == phase)

        return await self.until(GROUP, "scheduledscalings", reached)

    async def until_allowed(self, memory: str | None) -> Object:
        """Wait until the VPA has a lower bound."""

        def reported(vpa: Object) -> bool:
            policies = vpa["spec"].get("resourcePolicy", {}).get("containerPolicies", [])
            found = policies[0]["minAllowed"].get("memory") if policies else None
            return bool(found == memory)

        return await self.until(VPAS, "verticalpodautoscalers", reported)

    async def until_clean(self, spec: Object | None = None, seconds: float = 100) -> None:
        """Wait until nothing of ours is left on the Tortoise and its autoscaler."""

        def is_clean(obj: Object) -> bool:
            written = obj["metadata"].get("annotations", {})
            recommendations = obj.get("status", {}).get("recommendations", {})
            return (
                raised_values.ANNOTATION not in written
                and names.SCALING_FLOORS not in written
                and "recommenders" not in obj["spec"]
                and "constraints" not in recommendations
                and (spec is None or {**obj["spec"], **spec} == obj["spec"])
                and (spec is not None or "resourcePolicy" not in obj["spec"])
            )

        await self.until_tortoise(is_clean, seconds)

        def is_free(obj: Object) -> bool:
            return raised_values.ANNOTATION not in obj["metadata"].get("annotations", {})

        await self.until(AUTOSCALERS, "horizontalpodautoscalers", is_free, seconds)

    async def until_put(self, times: int) -> None:
        """Wait until Tortoise has put its autoscaler a number of times more."""
        fake_tortoise = self.scaling_cluster.fake_tortoise
        assert fake_tortoise is not None
        last = fake_tortoise.puts[self.namespace] + times

        async def put() -> bool:
            return fake_tortoise.puts[self.namespace] >= last

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
