"""Reviews of every kind that policies validate, and a fuzzer of them with fixed seeds."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from tests.support.builders import (
    CORE,
    make_cloud_profile,
    make_managed_seed,
    make_managed_seed_set,
    make_object,
    make_seed,
    make_seed_shoot,
    make_seed_template,
    make_shoot,
    make_worker,
)
from webhook.admission.table import POLICIES
from webhook.api import kinds, names

Raw: TypeAlias = dict[str, Any]

_BINDING: Final = {"quotas": [{"name": "q", "namespace": "garden"}]}
_AVAILABLE: Final = {"enabled": True, "type": "multi-zone", "failureTolerance": 1}

SHOOT: Final = make_shoot(
    workers=[make_worker("one", "abc"), make_worker("two", "ab", maxSurge="10%", priority=3)],
    spec={
        "seedName": "host",
        "secretBindingName": "b",
        "tolerations": [{"key": "a", "value": "b"}],
        "seedSelector": {"matchLabels": {"x": "y"}, "providerTypes": ["local"]},
        "kubernetes": {
            "controlPlane": {"highAvailability": _AVAILABLE, "regionAffinity": "preferred"},
            "clusterAutoscaler": {"sizingStrategy": "Adaptive"},
        },
        "controlPlane": {"zones": ["a"]},
        "addons": {"nginxIngress": {"enabled": True}},
        "dns": {"domain": "s.example.org", "providers": [{"type": "x", "primary": True}]},
    },
    metadata={
        "annotations": {
            names.MAINTENANCE_TRIGGER: "maintenance",
            names.HIGH_AVAILABILITY: '{"enabled": true, "type": "multi-zone"}',
            names.EXPIRATION_TIMESTAMP: "2027-01-01T00:00:00Z",
            names.SIZING_STRATEGY: "Adaptive",
        }
    },
    status={"seedName": "host"},
)
SCALING: Final = make_object(
    "autoscaling.mercari.com/v1alpha1",
    "ScheduledScaling",
    "s",
    "shop",
    spec={
        "targetRefs": {"tortoiseName": "t"},
        "strategy": {
            "static": {
                "minimumMinReplicas": 5,
                "minAllocatedResources": [{"containerName": "a", "resources": {"memory": "5Gi"}}],
            }
        },
        "schedule": {
            "cron": "0 9 * * 1-5",
            "duration": "8h",
            "timeZone": "Europe/Berlin",
            "startAt": "2026-02-01T00:00:00Z",
            "finishAt": "2026-03-01T00:00:00Z",
        },
    },
)
AUTOSCALER: Final = make_object(
    "seedmanagement.gardener.cloud/v1beta1",
    "SeedAutoscaler",
    "a",
    "garden",
    spec={
        "scaleTargetRef": {"kind": "ManagedSeedSet", "name": "set"},
        "minReplicas": 1,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "shoots",
                    "target": {"type": "Utilization", "averageUtilization": 50},
                },
            }
        ],
        "behavior": {
            "scaleDown": {"policies": [{"type": "Percent", "value": 5, "periodSeconds": 60}]}
        },
    },
)
REGISTRATION: Final = make_object(
    CORE, "ControllerRegistration", "r", spec={"resources": [{"kind": "Worker", "type": "x"}]}
)
_EXTENSIONS: Final = [
    make_object(kind.api_version, kind.name, "x", "shoot--a", spec={"type": "x", "dnsName": "d"})
    for policy in POLICIES
    if policy.name == "extension.rules"
    for kind in map(kinds.kind_of_model, policy.models)
]
VALID: Final[tuple[Raw, ...]] = (
    SHOOT,
    make_seed_shoot(),
    make_seed(
        zones="abc",
        metadata={"labels": {names.MULTI_ZONAL: "true"}},
        spec={
            "taints": [{"key": "a"}],
            "backup": {"provider": "local", "credentialsRef": {"name": "b"}},
            "settings": {"zoneSelection": {"mode": "Prefer"}},
        },
    ),
    make_managed_seed(),
    make_managed_seed(gardenlet=None, seedTemplate=make_seed_template()),
    make_managed_seed_set(maxParallel=1),
    AUTOSCALER,
    SCALING,
    REGISTRATION,
    *_EXTENSIONS,
)

LANDSCAPE: Final[tuple[Raw, ...]] = (
    make_cloud_profile(),
    make_seed("host", zones="abc", metadata={"labels": {"x": "y"}}),
    make_seed("other"),
    make_seed(),
    make_managed_seed(),
    make_managed_seed_set(),
    make_seed_shoot(seedName="host"),
    make_shoot("neighbour", spec={"seedName": "seed", "secretBindingName": "b"}),
    make_object(CORE, "SecretBinding", "b", "garden-dev", **_BINDING),
    make_object(
        CORE,
        "Quota",
        "q",
        "garden",
        spec={
            "scope": {"kind": "Project"},
            "metrics": {"cpu": "100", "memory": "1Ti", "storage.standard": "1Ti"},
            "clusterLifetimeDays": 30,
        },
    ),
    make_object(CORE, "Project", "dev", spec={"namespace": "garden-dev"}),
    make_object("autoscaling.mercari.com/v1beta3", "Tortoise", "t", "shop"),
)

_NASTY: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 1.5, -0.0, "", " ", "a", "*",
    "true", "-1", "5GB", "1e999", "999999999999999999999%", "10%", "0.0.0.0/0", "::/0", "1.0.0.0/3",
    "2026-99-99T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "../etc", "\x00",
    "\u2028", "é" * 70, "x" * 300, "{", "[[", '{"enabled": 1}', "P", [], {}, [None], [[]], [{}],
    {"": ""}, {"a": None}, ["a", "a"], [1, "a", None], {"type": "multi-zone"}, {"name": 5},
    {"kind": "ManagedSeedSet", "name": "set"}, "espalier", "seed", "garden", "RollingUpdate",
)  # fmt: skip


def make_review(new: Raw | None, old: Raw | None, operation: str, subresource: str = "") -> Raw:
    """Wrap a change into the review that an API server sends."""
    shown = new or old or {}
    kind = kinds.find_kind(shown["apiVersion"], shown["kind"])
    assert kind is not None
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": kind.group, "version": kind.version, "kind": kind.name},
            "resource": {"group": kind.group, "version": kind.version, "resource": kind.plural},
            "subResource": subresource,
            "name": shown["metadata"]["name"],
            "namespace": shown["metadata"].get("namespace", ""),
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["g"], "extra": {"k": ["v"]}},
            "object": new,
            "oldObject": old,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1"},
        },
    }


def valid_reviews() -> Iterator[Raw]:
    """Yield a creation, an update and a deletion of each valid object."""
    for raw in VALID:
        yield make_review(raw, None, "CREATE")
        yield make_review(raw, raw, "UPDATE")
        yield make_review(None, raw, "DELETE")
    yield make_review(SHOOT, SHOOT, "UPDATE", "binding")


Fuzzer: TypeAlias = Callable[[random.Random, Raw], bytes]


def fuzzed(seed: int, count: int) -> Iterator[bytes]:
    """Yield fuzzed reviews; most of them are invalid."""
    chance = random.Random(seed)
    plain = len(VALID) - len(_EXTENSIONS)
    originals = [*valid_reviews()]
    originals += originals[: 3 * plain] * 3  # extension kinds are all alike
    for _ in range(count):
        review = copy.deepcopy(chance.choice(originals))
        for _ in range(chance.choice((1, 1, 2, 3, 5))):
            _fuzz_value(chance, review)
        body = msgspec.json.encode(_writable(review))
        yield _fuzz_bytes(chance, body) if chance.random() < 0.1 else body


def _fuzz_value(chance: random.Random, review: Raw) -> None:
    """Change one value, nearly always inside of an object."""
    request = review.get("request")
    request = request if isinstance(request, dict) else {}
    sides = [side for side in map(request.get, ("object", "oldObject")) if isinstance(side, dict)]
    root: Any = chance.choice(sides) if sides and chance.random() < 0.97 else review
    holder, key = _walk(chance, root)
    if holder is None:
        return
    action = chance.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.2 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif action < 0.23 and isinstance(holder, dict):
        holder[chance.choice(("", "spec", "metadata", "more", "a/b~c"))] = holder.pop(key)
    elif action < 0.25:
        holder[key] = _deep(chance, holder[key])
    else:
        # Most values keep their type, so that rules are tested and not only types.
        alike = [value for value in _NASTY if type(value) is type(holder[key])]
        some = alike if alike and chance.random() < 0.8 else _NASTY
        holder[key] = copy.deepcopy(chance.choice(some))


def _walk(chance: random.Random, root: Any) -> tuple[Any, Any]:
    """Descend at random; return a container and a key in it."""
    holder, key, value = None, None, root
    while isinstance(value, dict | list) and value and (holder is None or chance.random() < 0.8):
        holder = value
        key = chance.choice([*value]) if isinstance(value, dict) else chance.randrange(len(value))
        value = holder[key]
    return holder, key


def _deep(chance: random.Random, value: Any) -> Any:
    for _ in range(chance.choice((150, 199, 200, 250, 400))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def _writable(value: Any) -> Any:
    """Replace integers that no encoder writes by raw digits, without recursion."""
    root = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, key = stack.pop()
        found = holder[key]
        if isinstance(found, dict):
            stack.extend((found, each) for each in found)
        elif isinstance(found, list):
            stack.extend((found, each) for each in range(len(found)))
        elif type(found) is int and not -(2**63) <= found < 2**64:
            holder[key] = msgspec.Raw(str(found).encode())
    return root[0]


def _fuzz_bytes(chance: random.Random, body: bytes) -> bytes:
    place = chance.randrange(len(body))
    match chance.randrange(5):
        case 0:
            return body[:place]
        case 1:
            return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]
        case 2:
            return body[:place] + chance.randbytes(3) + body[place:]
        case 3:
            return body[:place] + b"\\ud800" + body[place:]
        case _:
            return body + chance.choice((b"", b"}", b"null", b"\x00"))
