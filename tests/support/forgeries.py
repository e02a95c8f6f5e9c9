"""Forged reviews and calls of a scheduler about a landscape, and callers that send them."""

import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from tests.support.landscape_objects import raw_seed, raw_shoot
from tests.support.machine_objects import make_set
from tests.support.pool_objects import zone
from tests.support.scheduler import create_all
from tests.support.server_processes import Replica, without_verification
from webhook.cluster.client import Client
from webhook.cluster.requests import ApiRequest

ROOM: Final = 20
WAITING: Final = 25


@dataclass
class Landscape:
    """A seed with room for 20, a hosted shoot, 25 that wait, and an adaptive pool."""

    client: Client
    suffix: str

    @property
    def namespace(self) -> str:
        return f"garden-{self.suffix}"

    @property
    def seed(self) -> str:
        return f"seed-{self.suffix}"

    @property
    def hosted(self) -> str:
        return f"hosted-{self.suffix}"

    @property
    def pool(self) -> str:
        return f"shoot--{self.suffix}"

    @property
    def elsewhere(self) -> str:
        """The namespace of untrusted clients."""
        return f"elsewhere-{self.suffix}"

    @property
    def namespaces(self) -> tuple[str, ...]:
        return self.namespace, self.pool, self.elsewhere

    async def create(self) -> None:
        provider = f"provider-{self.suffix}"
        profile = {
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "CloudProfile",
            "metadata": {"name": provider},
            "spec": {"type": provider},
        }
        given: dict[str, Any] = {"namespace": self.namespace, "provider": provider}
        zones = [zone(index, 1, namespace=self.pool) for index in range(3)]
        await create_all(
            self.client,
            [
                profile,
                raw_seed(self.seed, provider=provider, shoots=ROOM + 1),
                raw_shoot(self.hosted, seed=self.seed, **given),
                *(raw_shoot(f"waiting-{index}", **given) for index in range(WAITING)),
                *zones,
            ],
        )
        path = f"/apis/core.gardener.cloud/v1beta1/namespaces/{self.namespace}/shoots"
        listed = (await self.client.document(ApiRequest("GET", path)))["items"]
        found = {item["metadata"]["name"]: {**item, "kind": "Shoot"} for item in listed}
        self.waiting = [found[f"waiting-{index}"] for index in range(WAITING)]
        self.deployment = zones[0]

    async def delete(self) -> None:
        for plural, name in (("seeds", self.seed), ("cloudprofiles", f"provider-{self.suffix}")):
            path = f"/apis/core.gardener.cloud/v1beta1/{plural}/{name}"
            await self.client.document(ApiRequest("DELETE", path))

    def deletion(self) -> dict[str, Any]:
        """The review whose verdict names the shoots of the seed."""
        return _review("core.gardener.cloud/v1beta1/seeds", "DELETE", self.seed, "")

    def growth(self) -> dict[str, Any]:
        """The review that takes a permit of the pool."""
        new = make_set(self.deployment, spec={"replicas": 2})
        resource = "machine.sapcloud.io/v1alpha1/machinesets"
        return _review(resource, "CREATE", new["metadata"]["name"], self.pool, new)

    def filters(self, index: int, *, fits: bool = True) -> dict[str, Any]:
        """A call that reserves capacity for a shoot, or reports that it fits nowhere."""
        names = [self.seed] if fits else ["nowhere"]
        return {"Pod": self.waiting[index], "NodeNames": names}

    def shadow(self) -> dict[str, Any]:
        """A call about the hosted shoot, which the caller does not send."""
        annotations = {"espalier.gardener.cloud/shoot": f"{self.namespace}/{self.hosted}"}
        return {"Pod": {"metadata": {"annotations": annotations}}, "NodeNames": [self.seed]}

    def binding(self) -> dict[str, Any]:
        metadata = self.waiting[0]["metadata"]
        pod = {"PodName": metadata["name"], "PodUID": metadata["uid"]}
        return {**pod, "PodNamespace": self.namespace, "Node": self.seed}

    def forgeries(self) -> Mapping[str, Sequence[tuple[str, Any]]]:
        """Return the addresses and bodies for each path; one that is missing here fails."""
        reviews = [self.deletion(), self.growth()]
        calls = [
            self.shadow(),
            *(self.filters(index, fits=fits) for fits in (True, False) for index in range(WAITING)),
        ]
        explain = f"/scheduler/explain/{self.namespace}/{self.hosted}"
        return {
            "/mutate": [("/mutate?timeout=10s", body) for body in reviews],
            "/validate": [("/validate?timeout=10s", body) for body in reviews],
            "/scheduler/filter": [("/scheduler/filter", body) for body in calls],
            "/scheduler/prioritize": [("/scheduler/prioritize", body) for body in calls],
            "/scheduler/preempt": [("/scheduler/preempt", self.shadow())],
            "/scheduler/bind": [("/scheduler/bind", self.binding())],
            "/scheduler/explain/{namespace}/{shoot}": [(explain, None)],
            "/healthz": [("/healthz?verbose", None)],
            "/readyz": [("/readyz?verbose", None)],
            "/metrics": [("/metrics", None)],
        }


def _review(
    resource: str, operation: str, name: str, namespace: str, new: Any = None
) -> dict[str, Any]:
    group, version, plural = resource.split("/")
    request = {
        "uid": "forged",
        "resource": {"group": group, "version": version, "resource": plural},
        "operation": operation,
        "name": name,
        "namespace": namespace,
        "userInfo": {"username": "system:admin", "groups": ["system:masters"]},
        **({"object": new} if new is not None else {}),
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


class Caller:
    """A client with a certificate, a token or neither; keeps every response."""

    def __init__(self, replica: Replica, context: ssl.SSLContext, token: str = "") -> None:
        self._replica = replica
        self._context = without_verification(context)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session = aiohttp.ClientSession()
        self.answers = 0
        self.responses: list[str] = []

    async def __aenter__(self) -> "Caller":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def call(self, method: str, path: str, body: Any, *, plain: bool = False) -> Any:
        """Return the status and the text; (0, "") if the connection is refused."""
        port = self._replica.http_port if plain else self._replica.port
        scheme = "http" if plain else "https"
        data = json.dumps(body) if body is not None else None
        headers = {**self._headers, "Content-Type": "application/json"}
        try:
            async with self._session.request(
                method, f"{scheme}://127.0.0.1:{port}{path}",
                data=data, headers=headers, ssl=self._context,
            ) as response:  # fmt: skip
                text = await response.text()
        except (aiohttp.ClientError, ConnectionError):
            return 0, ""
        self.answers += 1
        self.responses.append(f"{response.headers} {text}")
        return response.status, text

    async def post(self, path: str, body: Any) -> Any:
        status, text = await self.call("POST", path, body)
        assert status == 200, text
        return json.loads(text)
