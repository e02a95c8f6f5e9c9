"""Windows, foreign writes and crashes against a virtual clock: floors hold, and nothing stays."""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.admission import decide, make_request, read
from tests.builders import make_object
from webhook.admission.decision import UserInfo
from webhook.api import names, patches
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.timestamps import format_time
from webhook.controllers.scaling import floors, standing
from webhook.domain import schedules
from webhook.domain.options import Options
from webhook.runtime.actions import Emit, Patch
from webhook.state.snapshot import Snapshot

START = datetime(2026, 3, 1, tzinfo=UTC)
US = UserInfo(username="espalier")
TORTOISE = UserInfo(username="tortoise")
OPTIONS = Options(user=US.username)
PLANS = {
    ScheduledScaling: standing.plan,
    Tortoise: floors.plan_tortoise,
    HorizontalPodAutoscaler: floors.plan_autoscaler,
    Namespace: floors.plan_namespace,
}
POLICIES = {
    "Tortoise": {"": "tortoise.floors", "status": "tortoise.constraints"},
    "HorizontalPodAutoscaler": {"": "autoscaler.floors"},
}


class World:
    """A Tortoise with its autoscaler, and an API server that asks our policies at every write."""

    def __init__(self, scalings: list[dict[str, Any]]) -> None:
        self.now = START
        self._shown: Snapshot | None = None
        self.tortoise = make_object(
            "autoscaling.mercari.com/v1beta3",
            "Tortoise",
            "cute",
            "shop",
            spec={"updateMode": "Auto"},
            status={"tortoisePhase": "Working", "recommendations": {}},
        )
        self.autoscaler = make_object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "tortoise-hpa-cute",
            "shop",
            spec={"minReplicas": 3, "maxReplicas": 20},
        )
        self.namespace = make_object("v1", "Namespace", "shop")
        self.objects = {
            ("Tortoise", "cute"): self.tortoise,
            ("HorizontalPodAutoscaler", "tortoise-hpa-cute"): self.autoscaler,
            ("Namespace", "shop"): self.namespace,
            **{("ScheduledScaling", each["metadata"]["name"]): each for each in scalings},
        }

    def get(self, kind: str, name: str) -> dict[str, Any]:
        return self.objects[kind, name]

    def snapshot(self) -> Snapshot:
        if self._shown is None or self._shown.taken_at != self.now:
            objects = [read(raw) for raw in self.objects.values()]
            self._shown = Snapshot.of(objects, taken_at=self.now, options=OPTIONS)
        return self._shown

    def reconcile(self, crash_after: int | None = None) -> None:
        """Run every plan until nothing is left to do, or until we die after so many writes."""
        writes = 0
        for _ in range(20):
            planned = False
            for key in list(self.objects):
                obj = read(self.objects[key])
                plan = PLANS[type(obj)](obj, self.snapshot())  # type: ignore[operator]
                for action in plan.actions:
                    if isinstance(action, Emit):
                        continue
                    assert isinstance(action, Patch)
                    self.write(key, action.change, action.subresource, US)
                    planned = True
                    writes += 1
                    if writes == crash_after:
                        return
            if not planned:
                return
        raise AssertionError("the plans never come to rest")

    def write(
        self, key: tuple[str, str], change: Any, subresource: str = "", user: UserInfo = TORTOISE
    ) -> None:
        old = self.objects[key]
        new = patches.merge(copy.deepcopy(old), change)
        new["metadata"].pop("resourceVersion", None)
        policy = POLICIES.get(key[0], {}).get(subresource)
        if policy is not None:
            request = make_request(new, old, subresource=subresource, user=user)
            around = [*self.objects.values()]
            decision = decide("mutate", policy, request, around, OPTIONS, at=self.now)
            new = patches.apply(new, decision.patch)
        self.objects[key] = new
        self._shown = None


def _scaling(name: str, start: int, minutes: int, replicas: int, memory: str) -> dict[str, Any]:
    return make_object(
        "autoscaling.mercari.com/v1alpha1",
        "ScheduledScaling",
        name,
        "shop",
        spec={
            "targetRefs": {"tortoiseName": "cute"},
            "strategy": {
                "static": {
                    "minimumMinReplicas": replicas,
                    "minAllocatedResources": [
                        {"containerName": "app", "resources": {"memory": memory}}
                    ],
                }
            },
            "schedule": {
                "startAt": format_time(START + timedelta(minutes=start)),
                "finishAt": format_time(START + timedelta(minutes=start + minutes)),
            },
        },
    )


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param([(1, 5, 50, "5Gi")], id="one window"),
        pytest.param([(1, 9, 50, "1Gi"), (3, 3, 60, "5Gi")], id="a higher one inside"),
        pytest.param([(1, 4, 40, "5Gi"), (3, 6, 30, "2G"), (4, 2, 60, "1Gi")], id="three overlap"),
    ],
)
@pytest.mark.parametrize(
    ("resets", "crashes"),
    [
        pytest.param([], [], id="undisturbed"),
        pytest.param([2, 4], [], id="Tortoise writes its own in between"),
        pytest.param([2], [1, 2, 3], id="and we die after a write"),
    ],
)
def test_floors_equal_the_open_windows_and_nothing_is_left(
    drawn: list[tuple[int, int, int, str]], resets: list[int], crashes: list[int]
) -> None:
    scalings = [_scaling(f"s{index}", *each) for index, each in enumerate(drawn)]
    world = World(scalings)
    before = copy.deepcopy({key: raw for key, raw in world.objects.items() if key[0] in POLICIES})
    edges = {minute for start, length, *_ in drawn for minute in (start, start + length)}
    for minute in sorted({*edges, *(edge - 1 for edge in edges), *resets, 21, 22}):
        world.now = START + timedelta(minutes=minute)
        if crashes:
            world.reconcile(crash_after=crashes[minute % len(crashes)])
        world.reconcile()
        if minute in resets:  # what Tortoise's controller does all the time
            own = {"spec": {"minReplicas": 3, "maxReplicas": 20}}
            world.write(("HorizontalPodAutoscaler", "tortoise-hpa-cute"), own)
            world.write(("Tortoise", "cute"), {"status": {"recommendations": None}}, "status")
        _check(world, scalings)
    after = {key: raw for key, raw in world.objects.items() if key[0] in POLICIES}
    for raw in after.values():
        annotations = raw["metadata"].get("annotations", {})
        annotations.pop(names.SCALING_AFTERMATH, None)
        if not annotations:
            raw["metadata"].pop("annotations", None)
    after["Tortoise", "cute"]["status"].setdefault("recommendations", {})
    assert after == before
    assert names.SCALING_NAMESPACE not in world.get("Namespace", "shop")["metadata"].get(
        "labels", {}
    )


def _check(world: World, scalings: list[dict[str, Any]]) -> None:
    held = schedules.held((msgspec.convert(each, ScheduledScaling) for each in scalings), world.now)
    bounds = world.get("HorizontalPodAutoscaler", "tortoise-hpa-cute")["spec"]
    assert bounds["minReplicas"] == max(3, held.replicas or 0)
    assert bounds["maxReplicas"] == max(20, held.replicas or 0)
    policy = world.get("Tortoise", "cute")["spec"].get("resourcePolicy", [])
    floors_now = {each["containerName"]: each["minAllocatedResources"] for each in policy}
    assert floors_now == {name: dict(amounts) for name, amounts in held.resources.items()}
