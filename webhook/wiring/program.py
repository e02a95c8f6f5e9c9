"""`serve`: start everything in order, run until told to stop, stop in reverse."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

from webhook import __version__
from webhook.admission.configuration import NAME, Target, configurations
from webhook.admission.engine import TABLE
from webhook.api.core import Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.api.scaling import ScheduledScaling
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    ForbiddenError,
    NotFoundError,
)
from webhook.cluster.requests import Request, post
from webhook.controllers import certificates, webhooks
from webhook.controllers.extender import Extending
from webhook.controllers.leaving import Leaving
from webhook.controllers.scaling.metrics import ScalingCollector
from webhook.controllers.seedmetrics import SeedCollector
from webhook.controllers.setmetrics import SetCollector
from webhook.nodegroups.permits import Granter
from webhook.nodegroups.record import Records
from webhook.runtime import pulse
from webhook.runtime.clock import Clock, SystemClock
from webhook.runtime.familiar import Familiar
from webhook.runtime.health import Checks
from webhook.runtime.leader import Elector
from webhook.runtime.lock import LeaseLock
from webhook.runtime.manager import background
from webhook.runtime.metrics import CacheCollector, Metrics
from webhook.runtime.recorder import Recorder
from webhook.server.app import Services, build_app, build_plain_app
from webhook.server.authentication import Authenticator
from webhook.server.extender import Extender
from webhook.server.listeners import lame_duck, listening, require_free
from webhook.server.traffic import Traffic
from webhook.settings import Settings
from webhook.state.memory import Memory
from webhook.wiring import watched
from webhook.wiring.certificates import Certificates, read_authority
from webhook.wiring.landscape import Following
from webhook.wiring.leading import Leading
from webhook.wiring.nodegroups import NodeGroups
from webhook.wiring.readiness import check_leaving, make_checks

_GREETING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    port: int
    http_port: int
    nodegroups_port: int = 0
    """Where autoscalers are answered; 0 where they are not."""


class Program:
    """One server: what it is made of, and the order in which that comes and goes."""

    def __init__(self, settings: Settings, client: Client, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.metrics = Metrics()
        self.metrics.info.labels(__version__).set(1)
        self.metrics.registry.register(Familiar(self.metrics))
        self.client = client
        self.traffic = Traffic(self.clock, settings.max_in_flight)
        selections = [*watched.selections(settings, NAME)]
        options = settings.options()
        if not options.seeds.garden_server:
            # Good enough where gardenlets reach the garden as we do; settings say otherwise.
            seeds = replace(options.seeds, garden_server=client.server)
            options = replace(options, seeds=seeds)
        memory = Memory([selection.kind.model for selection in selections], options=options)
        self.cache = Cache(client, selections, self.clock, memory=memory)
        self.metrics.registry.register(CacheCollector(self.cache))
        if self.cache.watches(Seed):
            self.metrics.registry.register(SeedCollector(self.cache))
        if self.cache.watches(ScheduledScaling):
            self.metrics.registry.register(ScalingCollector(self.cache))
        if self.cache.watches(ManagedSeedSet) and self.cache.watches(SeedAutoscaler):
            self.metrics.registry.register(SetCollector(self.cache))
        self.records = Records(client, self.cache, settings.namespace, self.clock)
        self.nodegroups = NodeGroups(settings, client, self.cache, self.records, self.metrics)
        self.certificates = Certificates(settings, client, self.clock, self.metrics)
        self.recorder = Recorder(client, settings.identity, self.clock, self.metrics)
        self.leading = Leading(client, self.cache, self.recorder, self.clock, self.metrics)
        self.following = Following(self.cache, settings.namespace, standalone=settings.standalone)
        self.leaving = Leaving(client, settings.namespace, self.clock)
        self.ready = make_checks(
            self.cache, lambda: self.certificates.current, self.traffic, self.clock
        )
        self.ready.add("leaving", lambda: check_leaving(self.leaving.told))

    async def run(self, stop: asyncio.Event, started: Callable[[Address], None]) -> None:
        """Serve until `stop` is set; `started` is told once ports are open, before readiness."""
        settings = self.settings
        require_free(settings.http_host, settings.http_port)
        require_free(settings.host, settings.port)
        await self.following.ask(self.client)
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            stack.enter_context(pulse.watching_gc(self.metrics))
            await enter(background("pulse", self._feel_pulse()))
            plain = build_plain_app(Checks(), self.ready, self.metrics)
            http_port = await enter(listening(plain, settings.http_host, settings.http_port))
            rotation = await self.certificates.obtain()
            app = build_app(self._services(), settings.roles)
            context = rotation.serving.context
            port = await enter(listening(app, settings.host, settings.port, context))
            self.following.begin()
            user = await whoami(self.client)
            self.cache.memory.configure(replace(self.cache.memory.options, user=user))
            await enter(background("cache", self.cache.run()))
            follow = self.certificates.follow(self.cache, NAME)
            await enter(background("certificates", follow))
            await enter(background("events", self.recorder.run()))
            await enter(background("landscape", self._tell_landscape()))
            await enter(lame_duck(self.traffic, settings.drain_quiet, settings.drain_longest))
            if "controllers" in settings.roles:
                await enter(background("election", self._compete()))
            groups_port = 0
            if "nodegroups" in settings.roles:
                groups_port = await enter(self.nodegroups.serving(self.certificates))
            started(Address(port, http_port, groups_port))
            await stop.wait()

    async def _feel_pulse(self) -> None:
        def note(lag: float) -> None:
            self.traffic.lag = lag

        await pulse.watch_loop(self.clock, self.metrics, note)

    async def _tell_landscape(self) -> None:
        await self.cache.wait_synced()
        self.following.tell()
        await self.following.remember(self.client, self.clock)
        await asyncio.Event().wait()

    async def _compete(self) -> None:
        """Compete for the lease as soon as the cache is filled; readiness is not needed."""
        settings = self.settings
        await self.cache.wait_synced()
        self._add_keepers()
        key = ObjectKey(settings.namespace, settings.lease_name)
        identity = f"{settings.identity}_{secrets.token_hex(4)}"
        elector = Elector(LeaseLock(self.client, key), identity, settings.timing, self.clock)

        async def compete() -> None:
            await elector.run(lambda: self.leading.lead(elector), self.leading.note)

        await self.leaving.run_unless(compete)

    def _add_keepers(self) -> None:
        certs, rotation = self.certificates, self.certificates.rotation
        if certs.store is not None:
            self.leading.more.append(certificates.Keeper(certs.store, rotation, self.clock))
        if self.settings.manage_webhooks:
            settings = self.settings
            service = ObjectKey(settings.namespace, settings.service_name)
            wanted = webhooks.Wanted(
                self._configurations,
                lambda: certs.trusted,
                lambda: self.ready.report().passed,
                None if settings.advertise_url else service,
            )
            keeper = webhooks.Keeper(
                self.client, self.cache, rotation, wanted, self.settings.namespace, self.clock
            )
            self.leading.more.append(keeper)

    def _configurations(self, bundle: bytes) -> list[Draft]:
        settings = self.settings
        service = ObjectKey(settings.namespace, settings.service_name)
        target = Target(None if settings.advertise_url else service, bundle, settings.advertise_url)
        return configurations(target, self.cache.memory.options)

    def _services(self) -> Services:
        settings = self.settings
        people = read_authority(settings.client_ca) if settings.client_ca else b""
        authenticator = Authenticator(self.client, self.cache, self.clock, people)
        placer = self.leading.placer
        extending = Extending(self.client, self.cache, placer, self.recorder)
        api_servers = settings.admission_client_ca
        return Services(
            self.cache,
            TABLE,
            self.metrics,
            self.traffic,
            Extender(self.cache, extending, authenticator),
            read_authority(api_servers) if api_servers else b"",
            Granter(self.client, self.cache, self.records, self.clock),
        )


async def connect(settings: Settings) -> Client:
    """Find the way to the API server; raises ConfigError if there is none that works."""
    access = await config.load(settings.kubeconfig or None, settings.context or None)
    return Client(access)


async def greet(client: Client, settings: Settings) -> None:
    """Ask the API server something simple, so that what does not work is said at once.

    Our namespace is made where it is missing and we may; what we may not is left to others.
    """
    await client.document(Request("GET", "/version"), _GREETING_SECONDS)
    namespace = kind_of_model(Namespace)
    key = ObjectKey("", settings.namespace)
    try:
        await client.get(namespace, key, timeout=_GREETING_SECONDS)
    except NotFoundError:
        with suppress(AlreadyExistsError):  # another replica starts at the same time
            await client.create(namespace, key, {"metadata": {"name": settings.namespace}})
    except ForbiddenError:
        return


async def whoami(client: Client) -> str:
    """Ask under which name our own writes come; empty where nobody tells us."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    request = post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    try:
        answer = await client.document(request, _GREETING_SECONDS)
    except ApiError:
        return ""
    username: str = answer.get("status", {}).get("userInfo", {}).get("username", "")
    return username
