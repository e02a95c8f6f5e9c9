"""Builders of a machine pool's objects, and the state of a pool at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.api import names

Object = dict[str, Any]
State = dict[str, dict[str, Object]]
"""Objects by kind and name."""


def make_class(name: str) -> Object:
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": name},
        "provider": "local",
        "providerSpec": {},
    }


def make_zone(
    pool: str,
    zone: int,
    replicas: int,
    *,
    bounds: tuple[int, int] = (0, 30),
    permits: tuple[int | str, int | str] = (1, 0),
    simulate: str = "",
    image: str = "first",
) -> Object:
    """One zone of an adaptive pool of three."""
    name = f"{pool}-z{zone + 1}"
    labels = {"name": name}
    notes = {
        names.SIZING_STRATEGY: "Adaptive",
        names.POOL_MINIMUM: str(bounds[0]),
        names.POOL_MAXIMUM: str(bounds[1]),
        names.POOL_MAX_SURGE: str(permits[0]),
        names.POOL_MAX_UNAVAILABLE: str(permits[1]),
        names.POOL_ZONE_COUNT: "3",
        **({names.SIMULATE: simulate} if simulate else {}),
    }
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": {"name": name, "labels": {names.WORKER_POOL: pool}, "annotations": notes},
        "spec": {
            "replicas": replicas,
            "minReadySeconds": 0,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"image": image}},
                "spec": {"class": {"kind": "MachineClass", "name": "small"}},
            },
        },
    }


@dataclass
class PoolState:
    """A pool at one instant: desired replicas, sizes of sets, available machines."""

    replicas: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    available: dict[str, int] = field(default_factory=dict)
    existing: int = 0

    @property
    def wanted(self) -> int:
        return sum(self.replicas.values())

    @property
    def total(self) -> int:
        return sum(sum(each.values()) for each in self.sizes.values())

    @property
    def serving(self) -> int:
        return sum(self.available.values())

    @property
    def surge(self) -> int:
        return sum(
            max(0, sum(self.sizes.get(zone, {}).values()) - wanted)
            for zone, wanted in self.replicas.items()
        )

    @property
    def missing(self) -> int:
        return sum(
            max(0, wanted - self.available.get(zone, 0)) for zone, wanted in self.replicas.items()
        )


def apply(state: State, kind: str, verb: str, obj: Object) -> None:
    name = obj["metadata"]["name"]
    if verb == "DELETED":
        state[kind].pop(name, None)
    elif verb != "BOOKMARK":
        state[kind][name] = obj


def pool_state(pool: str, state: Mapping[str, Mapping[str, Object]]) -> PoolState:
    found = PoolState()
    for name, each in state["machinedeployments"].items():
        if pool_of(each) == pool:
            found.replicas[name] = each["spec"].get("replicas", 0)
    for name, each in state["machinesets"].items():
        if pool_of(each) == pool:
            sizes = found.sizes.setdefault(zone_of(each), {})
            sizes[name] = each["spec"].get("replicas", 0)
    for each in state["machines"].values():
        if pool_of(each) != pool:
            continue
        found.existing += 1
        phase = each.get("status", {}).get("currentStatus", {}).get("phase")
        if phase == "Running" and "deletionTimestamp" not in each["metadata"]:
            zone = zone_of(each)
            found.available[zone] = found.available.get(zone, 0) + 1
    return found


def zone_of(obj: Object) -> str:
    """Return the zone's name, which machines and sets carry in their labels."""
    labels = obj["metadata"].get("labels") or {}
    return str(labels.get("name") or obj["metadata"]["name"])


def pool_of(obj: Object) -> str:
    return zone_of(obj).rpartition("-z")[0]
