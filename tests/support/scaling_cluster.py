"""An API server with a fake Tortoise and two replicas of ours, and workloads in namespaces."""

import asyncio
import base64
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.account import account_access, grant
from tests.support.api_proxy import Proxy, open_proxy
from tests.support.fake_tortoise import FakeTortoise, running_tortoise
from tests.support.scaling_definitions import VPA, tortoise_definition
from tests.support.scaling_workload import Workload
from tests.support.server_processes import Replica
from tests.support.tls_server import tls_server
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling
from webhook.dev.planes.certificates import Keyring

Object = dict[str, Any]

SKEWS = (0.5, -0.5)


class ScalingCluster:
    """What all scenarios on one server share."""

    def __init__(self, server: Any, session: aiohttp.ClientSession, directory: Path) -> None:
        self.server, self.session, self.directory = server, session, directory
        self.fake_tortoise: FakeTortoise | None = None
        self.replicas: list[Replica] = []
        self.proxies: list[Proxy] = []
        self.recorded = asyncio.Event()
        """Set once Tortoise's CRD has the fields of our record."""
        self.start: Callable[[int, float], Awaitable[Replica]] = _not_started
        self._turns: Iterator[int] = itertools.count()
        self._numbers = itertools.count(1)

    def workload(self, name: str, sorts: str = "after") -> Workload:
        return Workload(self, f"{name}-{next(self._numbers)}", sorts)

    async def balance(self, request: web.Request) -> web.Response:
        """Forward each review to the next replica that is alive."""
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


async def _not_started(_number: int, _skew: float) -> Replica:
    raise AssertionError("the estate is not put up yet")


@contextlib.asynccontextmanager
async def scaling_cluster(server: Any, directory: Path) -> AsyncIterator[ScalingCluster]:
    """Start Tortoise and two replicas of ours with skewed clocks, behind one address."""
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
        found = ScalingCluster(server, session, directory)
        found.fake_tortoise = await enter(
            running_tortoise(session, partial(tls_server, keyring), bundle)
        )
        url = await enter(tls_server(keyring, found.balance))
        await grant(server)
        access = await account_access(server)

        async def start(number: int, skew: float) -> Replica:
            proxy = await enter(open_proxy(server, directory, f"proxy-{number}", access))
            replica = _replica(number, skew, directory, proxy, url, certificates)
            found.proxies.append(proxy)
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
    number: int, skew: float, directory: Path, proxy: Proxy, url: str, certificates: Path
) -> Replica:
    flags = [
        *("--manage-webhooks", "true", "--advertise-url", url),
        *("--certificate-directory", str(certificates)),
        *("--lease-duration", "6", "--renew-deadline", "4", "--retry-period", "0.5"),
    ]
    program = ("-m", "tests.support.skewed_clock", str(skew))
    return Replica(f"replica-{number}", directory, proxy.kubeconfig, *flags, program=program)


async def _define(server: Any) -> None:
    own = crd(kind_of_model(ScheduledScaling), beside_gardener=False)
    items = [own, tortoise_definition(), VPA]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    await server.kubectl("apply", "--server-side", "-f", "-", input=listed)
    found = [f"crd/{item['metadata']['name']}" for item in items]
    await server.kubectl("wait", "--for=condition=Established", "--timeout=120s", *found)
