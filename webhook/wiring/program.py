"""The program behind `espalier serve`: starts all parts in order and stops them in reverse."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final

from prometheus_client.registry import Collector

from webhook import __version__
from webhook.admission.engine import table_of
from webhook.admission.webhook_configurations import NAME, WebhookTarget, configurations
from webhook.api.core import Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
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
from webhook.cluster.requests import ApiRequest, post
from webhook.controllers.installation import certificates, webhook_configurations
from webhook.controllers.installation.uninstall_marker import UninstallMarker
from webhook.controllers.managedseedset.collector import ManagedSeedSetCollector
from webhook.controllers.scheduledscaling.collector import ScheduledScalingCollector
from webhook.controllers.seedautoscaler.collector import SeedAutoscalerCollector
from webhook.controllers.seedcapacity.collector import SeedCollector
from webhook.kube.clock import Clock, SystemClock
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.nodegroups.permits import PoolGranter
from webhook.nodegroups.records import PoolRecords
from webhook.placement.extender_service import ExtenderService
from webhook.placement.warm_up import ExtenderWarmUp
from webhook.runtime import pauses
from webhook.runtime.controller_runtime_metrics import ControllerRuntimeMetrics
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.health import Checks
from webhook.runtime.leader_election import LeaderElector
from webhook.runtime.lease_lock import LeaseLock
from webhook.runtime.metrics import CacheCollector, Metrics
from webhook.runtime.tasks import background
from webhook.server.app import Services, build_app, build_plain_app
from webhook.server.authentication import Authenticator
from webhook.server.extender import Extender
from webhook.server.listeners import PROBE_SECONDS, lame_duck, listening, require_free
from webhook.server.traffic import Traffic
from webhook.settings import Settings
from webhook.state.cluster_state import ClusterState
from webhook.wiring import watched_kinds
from webhook.wiring.api_watcher import ApiWatcher
from webhook.wiring.certificates import Certificates, read_ca_file
from webhook.wiring.leader_tasks import LeaderTasks
from webhook.wiring.nodegroups import NodeGroups
from webhook.wiring.readiness import check_uninstall, make_checks

_FIRST_REQUEST_SECONDS: Final = 10.0
_COLLECTORS: Final[Mapping[type[Object], Callable[[Cache], Collector]]] = {
    Seed: SeedCollector,
    ScheduledScaling: ScheduledScalingCollector,
    ManagedSeedSet: ManagedSeedSetCollector,
    SeedAutoscaler: SeedAutoscalerCollector,
}
"""The metrics about objects, by the kind that must be watched for them."""


@dataclass(frozen=True, slots=True)
class Address:
    """The ports of a server."""

    port: int
    http_port: int
    nodegroups_port: int = 0
    """The port for autoscalers; 0 if they are not served."""


class Program:
    """One server: its parts, and the order in which they start and stop."""

    def __init__(self, settings: Settings, client: Client, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.metrics = Metrics()
        self.metrics.info.labels(__version__).set(1)
        self.metrics.registry.register(ControllerRuntimeMetrics(self.metrics))
        self.client = client
        self.traffic = Traffic(self.clock, settings.max_in_flight, settings.max_body_bytes)
        selections = [*watched_kinds.selections(settings, NAME)]
        options = settings.options()
        if not options.seeds.garden_server:
            # The default, if gardenlets reach the garden at the same address as we do.
            seeds = replace(options.seeds, garden_server=client.server)
            options = replace(options, seeds=seeds)
        state = ClusterState([selection.kind.model for selection in selections], options=options)
        self.cache = Cache(client, selections, self.clock, state=state)
        self.metrics.registry.register(CacheCollector(self.cache))
        for model, collector in _COLLECTORS.items():
            if self.cache.watches(model):
                self.metrics.registry.register(collector(self.cache))
        self.records = PoolRecords(client, self.cache, settings.namespace, self.clock)
        self.nodegroups = NodeGroups(settings, client, self.cache, self.records, self.metrics)
        self.certificates = Certificates(settings, client, self.clock, self.metrics)
        self.recorder = EventRecorder(client, settings.identity, self.clock, self.metrics)
        self.leader_tasks = LeaderTasks(client, self.cache, self.recorder, self.clock, self.metrics)
        placer = self.leader_tasks.placer
        self.extender_service = ExtenderService(client, self.cache, placer, self.recorder)
        self.api_watcher = ApiWatcher(
            self.cache, settings.namespace, standalone=settings.standalone
        )
        self.uninstall_marker = UninstallMarker(client, settings.namespace, self.clock)
        self.ready = make_checks(
            self.cache, lambda: self.certificates.current, self.traffic, self.clock
        )
        self.ready.add("leaving", lambda: check_uninstall(self.uninstall_marker.reason))

    async def run(self, stop: asyncio.Event, started: Callable[[Address], None]) -> None:
        """Serve until `stop` is set; `started` is called once the ports are open."""
        settings = self.settings
        require_free(settings.http_host, settings.http_port)
        require_free(settings.host, settings.port)
        await self.api_watcher.check_at_start(self.client)
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            stack.enter_context(pauses.measure_gc_pauses(self.metrics))
            await enter(background("loop lag", self._measure_loop_lag()))
            plain = build_plain_app(Checks(), self.ready, self.metrics)
            where = (settings.http_host, settings.http_port)
            probes = listening(plain, *where, in_flight_seconds=PROBE_SECONDS)
            http_port = await enter(probes)
            rotation = await self.certificates.obtain()
            app = build_app(self._services(), settings.active_roles)
            context = rotation.serving.context
            port = await enter(listening(app, settings.host, settings.port, context))
            self.api_watcher.start()
            user = await whoami(self.client)
            self.cache.state.configure(replace(self.cache.state.options, user=user))
            await enter(background("cache", self.cache.run()))
            follow = self.certificates.follow(self.cache, NAME)
            await enter(background("certificates", follow))
            await enter(background("events", self.recorder.run()))
            await enter(background("apis", self._report_apis()))
            if "extender" in settings.active_roles:
                await enter(background("extender", self._warm_extender_up()))
            await enter(lame_duck(self.traffic, settings.drain_quiet, settings.drain_longest))
            if "controllers" in settings.roles:
                await enter(background("election", self._run_election()))
            groups_port = 0
            if "nodegroups" in settings.roles:
                groups_port = await enter(self.nodegroups.serving(self.certificates))
            started(Address(port, http_port, groups_port))
            await stop.wait()

    async def _measure_loop_lag(self) -> None:
        def report(lag: float) -> None:
            self.traffic.lag = lag

        await pauses.measure_loop_lag(self.clock, self.metrics, report)

    async def _report_apis(self) -> None:
        await self.cache.wait_synced()
        self.api_watcher.log_summary()
        await self.api_watcher.record_gardener(self.client, self.clock)
        await asyncio.Event().wait()

    async def _warm_extender_up(self) -> None:
        await self.cache.wait_synced()
        await ExtenderWarmUp(self.cache, self.extender_service, self.clock).run()

    async def _run_election(self) -> None:
        """Compete for the Lease as soon as the cache is synced, before the replica is ready."""
        settings = self.settings
        await self.cache.wait_synced()
        self._add_leader_tasks()
        key = ObjectKey(settings.namespace, settings.lease_name)
        identity = f"{settings.identity}_{secrets.token_hex(4)}"
        elector = LeaderElector(LeaseLock(self.client, key), identity, settings.timing, self.clock)

        async def compete() -> None:
            tasks = self.leader_tasks
            await elector.run(lambda: tasks.run(elector), tasks.record_leadership)

        await self.uninstall_marker.run_until_marked(compete)

    def _add_leader_tasks(self) -> None:
        certs, rotation = self.certificates, self.certificates.rotation
        if certs.store is not None:
            self.leader_tasks.further.append(
                certificates.CertificateRenewer(certs.store, rotation, self.clock)
            )
        if self.settings.manage_webhooks:
            inputs = webhook_configurations.RegistrationInputs(
                self._configurations,
                lambda: certs.trusted,
                lambda: self.ready.report().passed,
                self._service,
            )
            reconciler = webhook_configurations.WebhookConfigurationReconciler(
                self.client, self.cache, rotation, inputs, self.settings.namespace, self.clock
            )
            self.leader_tasks.further.append(reconciler)

    @property
    def _service(self) -> ObjectKey | None:
        """The Service through which API servers call us; None if they use a URL."""
        settings = self.settings
        key = ObjectKey(settings.namespace, settings.service_name)
        return None if settings.advertise_url else key

    def _configurations(self, bundle: bytes) -> list[Draft]:
        target = WebhookTarget(self._service, bundle, self.settings.advertise_url)
        return configurations(target, self.cache.state.options)

    def _services(self) -> Services:
        settings = self.settings
        client_authorities = read_ca_file(settings.client_ca) if settings.client_ca else b""
        authenticator = Authenticator(self.client, self.cache, self.clock, client_authorities)
        api_servers = settings.admission_client_ca
        return Services(
            self.cache,
            table_of(self.cache.state.options.features),
            self.metrics,
            self.traffic,
            Extender(self.cache, self.extender_service, authenticator),
            read_ca_file(api_servers) if api_servers else b"",
            PoolGranter(self.client, self.cache, self.records, self.clock),
            settings.fast_path,
            frozenset(settings.admission_client_names),
        )


async def connect(settings: Settings) -> Client:
    """Return a client for the API server; raises ConfigError without a usable configuration."""
    access = await config.load(settings.kubeconfig or None, settings.context or None)
    return Client(access)


async def check_connection(client: Client, settings: Settings) -> None:
    """Send a first request, so that a faulty connection is reported at once.

    Our namespace is created if it does not exist and we have the permission, so that the
    server can be tried against any API server without manifests. Waiting for an API server would
    hide a mistake from a person, and a kubelet restarts the pod anyway.
    """
    await client.document(ApiRequest("GET", "/version"), _FIRST_REQUEST_SECONDS)
    namespace = kind_of_model(Namespace)
    key = ObjectKey("", settings.namespace)
    try:
        await client.get(namespace, key, timeout=_FIRST_REQUEST_SECONDS)
    except NotFoundError:
        with suppress(AlreadyExistsError):  # another replica starts at the same time
            await client.create(namespace, key, {"metadata": {"name": settings.namespace}})
    except ForbiddenError:
        return


async def whoami(client: Client) -> str:
    """Return the user name of our own requests; empty if the API server does not return it."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    request = post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    try:
        answer = await client.document(request, _FIRST_REQUEST_SECONDS)
    except ApiError:
        return ""
    username: str = answer.get("status", {}).get("userInfo", {}).get("username", "")
    return username
