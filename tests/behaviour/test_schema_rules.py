"""Validation rules in schemas of custom resources: both servers report the same refusals."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.bad_requests import MERGE_PATCH, Bad
from tests.behaviour.http_requests import Place, normalise, send_bad_request
from tests.behaviour.recorded_answers import Record
from webhook.dev.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(300)
RECORD = Record("schema_rules")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULEDS = "/apis/{group}/v1/namespaces/{ns}/ruleds"


def make_ruled_definition(group: str) -> dict[str, Any]:
    """A CRD whose schema has validation rules."""
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 10},
            "port": {"type": "integer", "maximum": 99_999},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.port) || self.port > 0", "message": "ports begin at one"},
            {
                "rule": "!has(oldSelf.port) || self.port == oldSelf.port",
                "reason": "FieldValueForbidden",
            },
        ],
    }
    numbers = {name: {"type": "integer"} for name in ("low", "high", "value")}
    spec = {
        "type": "object",
        "properties": {
            **numbers,
            "name": {
                "type": "string",
                "maxLength": 10,
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "a name stays"},
                    {"rule": "self.startsWith('a')"},
                ],
            },
            "ratio": {
                "type": "number",
                "x-kubernetes-validations": [{"rule": "self <= 1.5", "message": " too large "}],
            },
            "when": {
                "type": "string",
                "format": "date-time",
                "x-kubernetes-validations": [
                    {"rule": "self > timestamp('2026-01-01T00:00:00Z')", "message": "too early"}
                ],
            },
            "namespace": {"type": "string", "maxLength": 10},
            "first-part": {"type": "string", "maxLength": 10},
            "tags": {
                "type": "object",
                "maxProperties": 3,
                "additionalProperties": {
                    "type": "string",
                    "maxLength": 10,
                    "x-kubernetes-validations": [{"rule": "size(self) < 5", "message": "long"}],
                },
            },
            "ports": {
                "type": "array",
                "maxItems": 3,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": item,
            },
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.low) || self.low <= self.high", "message": "low is above high"},
            {
                "rule": "!has(self.value) || self.value <= self.high",
                "messageExpression": "(has(self.name) ? self.name : 'this') + ' has too much'",
                "reason": "FieldValueForbidden",
                "fieldPath": ".value",
            },
            {
                "rule": "!has(self.__namespace__) || self.__namespace__ == self.first__dash__part",
                "reason": "FieldValueRequired",
            },
            {"rule": "!has(self.tags) || self.tags['must'] != ''"},
            {
                "rule": "!has(self.ports) || self.ports.exists(p, p.name == 'main')",
                "message": "no main port",
                "fieldPath": ".ports",
            },
        ],
    }
    schema = {
        "type": "object",
        "properties": {"spec": spec},
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name.size() < 12", "message": "the name is too long"}
        ],
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"ruleds.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "ruleds", "singular": "ruled", "kind": "Ruled"},
            "versions": [version],
        },
    }


def ruled(called: str = "new", /, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "{group}/v1",
        "kind": "Ruled",
        "metadata": {"name": called},
        "spec": spec,
    }


EXISTING: dict[str, Any] = {"name": "apple", "ports": [{"name": "main", "port": 80}]}


BROKEN = (
    Bad("a rule with a message", "POST", RULEDS, ruled(low=2, high=1)),
    Bad(
        "a rule that words its message itself", "POST", RULEDS, ruled(high=1, value=2, name="apple")
    ),
    Bad("a rule without a message", "POST", RULEDS, ruled(name="bob")),
    Bad("a rule on a number", "POST", RULEDS, ruled(ratio=2)),
    Bad("a rule on a time", "POST", RULEDS, ruled(when="2025-01-01T00:00:00Z")),
    Bad("a rule on the whole object", "POST", RULEDS, ruled("a-very-long-name")),
    Bad(
        "a rule on fields with special names",
        "POST",
        RULEDS,
        ruled(**{"namespace": "a", "first-part": "b"}),
    ),
    Bad("a rule on a value of a map", "POST", RULEDS, ruled(tags={"must": "too-long"})),
    Bad("a rule that cannot be evaluated", "POST", RULEDS, ruled(tags={"other": "x"})),
    Bad("a rule on an item", "POST", RULEDS, ruled(ports=[{"name": "main", "port": 0}])),
    Bad("a rule with a path", "POST", RULEDS, ruled(ports=[{"name": "a"}])),
    Bad("several rules", "POST", RULEDS, ruled(name="bob", low=2, high=1)),
    Bad("rules after a wrong type", "POST", RULEDS, ruled(name=1, low=2, high=1)),
    Bad(
        "a rule about a change",
        "PATCH",
        f"{RULEDS}/exists",
        {"spec": {"name": "avocado"}},
        content_type=MERGE_PATCH,
    ),
    Bad(
        "a rule about the change of an item",
        "PATCH",
        f"{RULEDS}/exists",
        {"spec": {"ports": [{"name": "main", "port": 81}]}},
        content_type=MERGE_PATCH,
    ),
)


@pytest.fixture
async def ruled_place(session, namespace):
    """A custom resource with rules, and one object of it."""
    place = Place(namespace, f"r{uuid4().hex[:8]}.example.com")
    definition = make_ruled_definition(place.group)
    async with session.post(DEFINITIONS, json=definition) as response:
        assert response.status == 201, await response.text()
        assert "Warning" not in response.headers
    exists = Bad("", "POST", RULEDS, ruled("exists", **EXISTING))
    async with asyncio.timeout(90):
        while (await send_bad_request(session, exists, place))["code"] == 404:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    yield place
    async with session.delete(f"{DEFINITIONS}/{definition['metadata']['name']}") as response:
        assert response.status == 200


async def test_what_rules_refuse(server, session, ruled_place):
    for bad in BROKEN:
        answer = normalise(await send_bad_request(session, bad, ruled_place), ruled_place)
        assert answer["code"] == 422, (bad.id, answer)
        RECORD.check(bad.id, answer, is_real=isinstance(server, Kubernetes))
    assert RECORD.keys == {bad.id for bad in BROKEN}


async def test_what_rules_allow(session, ruled_place):
    good = ruled(low=1, high=3, value=2, name="avocado", ratio=1, tags={"must": "x"})
    answer = await send_bad_request(session, Bad("", "POST", RULEDS, good), ruled_place)
    assert answer["code"] == 201, answer
    unchanged = Bad("", "PATCH", f"{RULEDS}/exists", {"spec": {"ratio": 1.5}}, {}, MERGE_PATCH)
    assert (await send_bad_request(session, unchanged, ruled_place))["code"] == 200
