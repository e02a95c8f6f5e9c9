"""Objects of machine-controller-manager as JSON documents."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders import make_object, merged
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.kube.meta import Object

MACHINE = "machine.sapcloud.io/v1alpha1"
SHOOT_NAMESPACE = "shoot--dev--one"


def make_deployment(
    pool: str = "pool",
    zone: int = 0,
    *,
    namespace: str = SHOOT_NAMESPACE,
    replicas: int = 0,
    bounds: tuple[int, int] | None = (3, 4),
    **rest: Any,
) -> dict[str, Any]:
    """One zone of a pool, counted from 0, with the pool's bounds in annotations."""
    name = f"{namespace}-{pool}-z{zone + 1}"
    notes = {}
    if bounds is not None:
        notes = {names.POOL_MINIMUM: str(bounds[0]), names.POOL_MAXIMUM: str(bounds[1])}
    default = {
        "metadata": {
            "labels": {names.WORKER_POOL: pool},
            "annotations": notes,
            "uid": f"uid-{name}",
            "resourceVersion": "10",
            "generation": 1,
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"name": name}},
            "template": {
                "metadata": {"labels": {"name": name}},
                "spec": {
                    "class": {"kind": "MachineClass", "name": f"{name}-abcde"},
                    "nodeTemplate": {
                        "metadata": {
                            "labels": {
                                names.WORKER_POOL: pool,
                                names.ZONE_LABEL: f"zone-{zone}",
                            }
                        }
                    },
                },
            },
        },
    }
    return merged(make_object(MACHINE, "MachineDeployment", name, namespace, **default), rest)


def deployment(*args: Any, **changes: Any) -> MachineDeployment:
    return convert(MachineDeployment, make_deployment(*args, **changes))


def make_set(owner: Mapping[str, Any], suffix: str = "1", **rest: Any) -> dict[str, Any]:
    """A MachineSet of a MachineDeployment."""
    metadata = owner["metadata"]
    reference = {
        "apiVersion": MACHINE,
        "kind": "MachineDeployment",
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
    }
    name = f"{metadata['name']}-{suffix}"
    default = {
        "metadata": {"uid": f"uid-{name}", "resourceVersion": "10", "ownerReferences": [reference]},
        "spec": {
            "replicas": owner["spec"].get("replicas", 0),
            "selector": owner["spec"].get("selector", {}),
            "template": owner["spec"].get("template", {}),
        },
    }
    return merged(make_object(MACHINE, "MachineSet", name, metadata["namespace"], **default), rest)


def make_machine(
    owner: Mapping[str, Any], suffix: str = "a", phase: str = "Running", **rest: Any
) -> dict[str, Any]:
    """A machine of a MachineSet."""
    metadata = owner["metadata"]
    reference = {
        "apiVersion": MACHINE,
        "kind": "MachineSet",
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "controller": True,
    }
    name = f"{metadata['name']}-{suffix}"
    default: dict[str, Any] = {
        "metadata": {
            "uid": f"uid-{name}",
            "resourceVersion": "10",
            "labels": {"name": name},
            "ownerReferences": [reference],
        },
        "spec": {**owner["spec"].get("template", {}).get("spec", {}), "providerID": f"p:///{name}"},
        "status": {"currentStatus": {"phase": phase}},
    }
    return merged(make_object(MACHINE, "Machine", name, metadata["namespace"], **default), rest)


def make_class(name: str, namespace: str = SHOOT_NAMESPACE, **rest: Any) -> dict[str, Any]:
    """A MachineClass that describes its Nodes."""
    template = {
        "capacity": {"cpu": "4", "memory": "16Gi", "gpu": "0"},
        "instanceType": "large",
        "region": "here",
        "zone": "zone-0",
    }
    default = {"provider": "local", "providerSpec": {}, "nodeTemplate": template}
    return merged(make_object(MACHINE, "MachineClass", name, namespace, **default), rest)


def decode_all(*documents: dict[str, Any]) -> list[Object]:
    """Decode objects by their kinds."""
    models: dict[str, type[Object]] = {
        "MachineDeployment": MachineDeployment,
        "MachineSet": MachineSet,
        "Machine": Machine,
        "MachineClass": MachineClass,
    }
    return [convert(models[each["kind"]], each) for each in documents]
