"""A Tortoise, its autoscaler and schedules on the fake API server.

Every write passes our policies. Time passes when a test moves it; plans run until none has an
action left.
"""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tests.support import tortoise_rules
from tests.support.builders import make_object
from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_cluster import FakeCluster
from webhook.admission.decision import Decision, Request, UserInfo
from webhook.admission.engine import TABLE
from webhook.api import kinds
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling.controller import (
    SCHEDULED_SCALING_FLOORS,
    SCHEDULED_SCALING_STATUS,
)
from webhook.domain.options import Options
from webhook.kube import patches
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Emit, MetricUpdate, Patch, Plan
from webhook.runtime.controller import Controller
from webhook.state.snapshot import Snapshot

Raw = dict[str, Any]

START = datetime(2026, 3, 1, tzinfo=UTC)
SHOP = "shop"
US = UserInfo(username="espalier")
OTHERS = UserInfo(username="somebody")
OPTIONS = Options(user=US.username)
ROWS: tuple[Controller, ...] = (*SCHEDULED_SCALING_FLOORS, SCHEDULED_SCALING_STATUS)
MODELS: tuple[type[Object], ...] = (
    *(ScheduledScaling, Tortoise, HorizontalPodAutoscaler, Namespace, CustomResourceDefinition),
)
HOURS = 6
"""How long a test lasts at most; the Tortoise has recommendations for as many hours."""
TORTOISE = ObjectKey(SHOP, "cute")
AUTOSCALER = ObjectKey(SHOP, "tortoise-hpa-cute")


def make_tortoise(name: str = "cute", phase: str = "Working", **spec: Any) -> Raw:
    return make_object(
        tortoise_rules.API_VERSION,
        "Tortoise",
        name,
        SHOP,
        spec={"updateMode": "Auto", "deletionPolicy": "NoDelete", **spec},
        status={"tortoisePhase": phase, "recommendations": tortoise_rules.learned(hours=HOURS)},
    )


def make_autoscaler(name: str = AUTOSCALER.name, minimum: int = 3, maximum: int = 20) -> Raw:
    return make_object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        SHOP,
        spec={"minReplicas": minimum, "maxReplicas": maximum},
        status={"currentReplicas": minimum, "desiredReplicas": minimum},
    )


def make_scaling(
    name: str = "campaign",
    start: float = 1,
    minutes: float = 5,
    replicas: int | None = 50,
    memory: str = "5Gi",
    **spec: Any,
) -> Raw:
    """Return a schedule whose window opens some minutes after `START`."""
    static: Raw = {} if replicas is None else {"minimumMinReplicas": replicas}
    if memory:
        floor = {"containerName": "app", "resources": {"memory": memory}}
        static["minAllocatedResources"] = [floor]
    opening = START + timedelta(minutes=start)
    schedule = {
        "startAt": format_time(opening),
        "finishAt": format_time(opening + timedelta(minutes=minutes)),
    }
    made = make_object(
        "autoscaling.mercari.com/v1alpha1",
        "ScheduledScaling",
        name,
        SHOP,
        spec={
            "targetRefs": {"tortoiseName": "cute"},
            "strategy": {"static": static},
            "schedule": schedule,
            **spec,
        },
    )
    made["metadata"] |= {"generation": 1, "creationTimestamp": format_time(START)}
    return made


def make_definition(*, stores: bool = True) -> Raw:
    """Return Tortoise's CRD, with the fields of our record or as upstream has it."""
    inner = {"x-kubernetes-preserve-unknown-fields": True} if stores else {}
    schema = {
        "properties": {"spec": inner, "status": {"properties": {"recommendations": inner}}},
    }
    version = {"name": "v1beta3", "schema": {"openAPIV3Schema": schema}}
    return make_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "tortoises.autoscaling.mercari.com",
        spec={"versions": [version]},
    )


class FakeScalingCluster:
    """The fake API server with a Tortoise on it; writes pass its webhooks and ours."""

    def __init__(self, *objects: Raw, options: Options = OPTIONS) -> None:
        self.now = START
        self.server = FakeApiServer()
        self.memory = FakeCluster(
            FakeClock(START), *MODELS, server=self.server, options=options
        ).memory
        self.events: list[str] = []
        self.metric_updates: list[MetricUpdate] = []
        self.writes = 0
        self.refuses: set[str] = set()
        """Kinds whose writes fail, as when a webhook does not answer."""
        for raw in (make_object("v1", "Namespace", SHOP), make_definition(), *objects):
            self.put(raw)

    def put(self, raw: Mapping[str, Any]) -> None:
        """Store an object without admission."""
        kind = kinds.find_kind(raw["apiVersion"], raw["kind"])
        assert kind is not None
        self.server.put(kind.model, raw)

    def drop(self, model: type[Object], key: ObjectKey) -> None:
        self.server.drop(model, key)

    def raw(self, model: type[Object], key: ObjectKey) -> Raw:
        return copy.deepcopy(self.server.find(model, key))

    @property
    def tortoise(self) -> Raw:
        return self.raw(Tortoise, TORTOISE)

    @property
    def autoscaler(self) -> Raw:
        return self.raw(HorizontalPodAutoscaler, AUTOSCALER)

    def scaling(self, name: str = "campaign") -> Raw:
        return self.raw(ScheduledScaling, ObjectKey(SHOP, name))

    def condition(self, kind: str, name: str = "campaign") -> tuple[str, str]:
        found = self.scaling(name).get("status", {}).get("conditions", [])
        return next((each["status"], each["reason"]) for each in found if each["type"] == kind)

    @property
    def labels(self) -> Mapping[str, str]:
        namespace = self.raw(Namespace, ObjectKey("", SHOP))
        found: Mapping[str, str] = namespace["metadata"].get("labels", {})
        return found

    def snapshot(self) -> Snapshot:
        return Snapshot(self.memory, self.now)

    def at(self, minutes: float) -> "FakeScalingCluster":
        self.now = START + timedelta(minutes=minutes)
        return self

    def plans(self) -> list[tuple[str, Plan]]:
        """Return the plans of every controller for every object."""
        return [
            (row.name, row.plan(obj, self.snapshot()))
            for row in ROWS
            for obj in [*self.memory.store(row.model).list()]
        ]

    def reconcile(self, crash_after: int | None = None) -> "FakeScalingCluster":
        """Run all plans until none has an action left, or until a crash after some writes."""
        before = self.writes
        for _ in range(12):
            written = self.writes
            for row in ROWS:
                for key in [obj.key for obj in self.memory.store(row.model).list()]:
                    if not self._reconcile(row, key, before, crash_after):
                        return self
            if self.writes == written:
                return self
        raise AssertionError("the plans never come to rest")

    def _reconcile(self, row: Controller, key: ObjectKey, before: int, most: int | None) -> bool:
        obj = self.memory.store(row.model).get(key)
        if obj is None:
            return True
        plan = row.plan(obj, self.snapshot())
        for action in plan.actions:
            if isinstance(action, Emit):
                self.events.append(action.reason)
                continue
            assert isinstance(action, Patch)
            if action.kind.name in self.refuses:
                return True
            assert isinstance(action.change, dict)
            self.write(action.kind, action.key, action.change, action.subresource, US)
            if self.writes - before == most:
                return False
        self.metric_updates += plan.metric_updates
        return True

    def write(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Mapping[str, Any],
        subresource: str = "",
        user: UserInfo = OTHERS,
    ) -> None:
        """Patch an object as an API server does: Tortoise's webhook, ours, then both again."""
        old = self.raw(kind.model, key)
        new: Raw = patches.merge(copy.deepcopy(old), dict(change))
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        for _ in range(2):
            self._tortoise_webhook(new, subresource)
            new = self._admit(kind, key, new, old, subresource, user)
        before = self.server.version
        self.server.update(kind.model, key, new, subresource)
        self.writes += self.server.version - before

    def _admit(
        self, kind: Kind, key: ObjectKey, new: Raw, old: Raw, subresource: str, user: UserInfo
    ) -> Raw:
        if kind.model not in (Tortoise, HorizontalPodAutoscaler):
            return new
        request = Request(
            uid="1",
            kind=kind,
            operation="UPDATE",
            key=key,
            subresource=subresource,
            user=user,
            new=msgspec.json.encode(new),
            old=msgspec.json.encode(old),
        )
        decision = TABLE.mutate(request, self.snapshot())
        assert isinstance(decision, Decision)
        admitted: Raw = patches.apply(new, decision.patch)
        return admitted

    def _tortoise_webhook(self, new: Raw, subresource: str) -> None:
        if subresource:
            return
        if new["kind"] == "Tortoise":
            new["spec"] = tortoise_rules.defaulted(new)
        elif new["kind"] == "HorizontalPodAutoscaler":
            owner = self.server.objects.get((Tortoise, TORTOISE))
            if owner is not None:
                tortoise_rules.set_bounds(new, owner, self.now)

    def tortoise_works(self, replicas: int) -> None:
        """Do what a running Tortoise repeats: learn, put its status, put its autoscaler."""
        bounds = {"status": {"currentReplicas": replicas, "desiredReplicas": replicas}}
        autoscaler = kind_of_model(HorizontalPodAutoscaler)
        self.write(autoscaler, AUTOSCALER, bounds, "status")
        status = tortoise_rules.typed_status(self.tortoise)
        tortoise_rules.learn(status, replicas, self.now)
        recommendations = {**status["recommendations"], "constraints": None}
        put = {"status": {**status, "recommendations": recommendations}}
        self.write(kind_of_model(Tortoise), TORTOISE, put, "status")
        self.write(autoscaler, AUTOSCALER, {})
