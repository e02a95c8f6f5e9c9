"""Plain HTTP requests to a server, and responses that can be compared between servers."""

import io
import re
from typing import Any, NamedTuple

import aiohttp
import orjson

from tests.behaviour.bad_requests import Bad, config_map, widget
from tests.behaviour.sample_objects import make_definition, make_namespace
from tests.support.waits import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_VOLATILE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r'(resourceVersion\\?":\s*\\?")\d+'), r"\1VERSION"),
    (re.compile(r"(ResourceVersion in record \(|current: )\d+"), r"\1VERSION"),
    (re.compile(r"A_[a-z0-9]{5}"), "A_RANDOM"),
    (re.compile(r"(too old resource version: \d+) \(\d+\)"), r"\1 (VERSION)"),
)


class Place(NamedTuple):
    """The namespace and the API group of a test."""

    namespace: str
    group: str


async def prepare(session: aiohttp.ClientSession, suffix: str) -> Place:
    """Create the objects that bad requests refer to."""
    place = Place(f"test-{suffix}", f"{suffix}.example.com")
    await _post(session, "/api/v1/namespaces", make_namespace(place.namespace))
    await _post(session, DEFINITIONS, make_definition(place.group))
    maps = f"/api/v1/namespaces/{place.namespace}/configmaps"
    await _post(session, maps, config_map("exists", data={"a": "1"}))
    widgets = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    exists = orjson.loads(_filled(orjson.dumps(widget("exists")), place))
    await until_served(session, place.group, "widgets")
    await _post(session, widgets, exists)
    return place


async def until_served(session: aiohttp.ClientSession, group: str, plural: str) -> None:
    """Wait until a new resource is served and in the discovery documents."""
    await eventually(lambda: is_served(session, f"/apis/{group}/v1/{plural}"))
    await eventually(lambda: _is_discovered(session, group, plural))


async def is_served(session: aiohttp.ClientSession, path: str) -> bool:
    async with session.get(path) as response:
        return response.status == 200


async def _is_discovered(session: aiohttp.ClientSession, group: str, plural: str) -> bool:
    async with session.get("/apis", headers={"Accept": _DISCOVERY}) as response:
        groups = (await response.json())["items"]
    return any(
        resource["resource"] == plural
        for found in groups
        if found["metadata"]["name"] == group
        for version in found["versions"]
        for resource in version.get("resources", ())
    )


async def _post(session: aiohttp.ClientSession, path: str, obj: dict[str, Any]) -> None:
    async with session.post(path, json=obj) as response:
        assert response.status == 201, await response.text()


async def send_bad_request(session: aiohttp.ClientSession, bad: Bad, place: Place) -> Any:
    """Send a request; return its status code and its body, decoded if it is JSON."""
    data = bad.body
    if data is not None and not isinstance(data, bytes):
        data = orjson.dumps(data)
    headers = {"Content-Type": bad.content_type or "application/json", "User-Agent": "tests/1"}
    if bad.accept:
        headers["Accept"] = bad.accept
    async with session.request(
        bad.method,
        bad.path.format(ns=place.namespace, group=place.group),
        data=None if data is None else io.BytesIO(_filled(data, place)),
        params=dict(bad.query),
        headers=headers,
    ) as response:
        text = await response.text()
        try:
            body = orjson.loads(text)
        except orjson.JSONDecodeError:
            body = text
        return {"code": response.status, "body": body}


def _filled(data: bytes, place: Place) -> bytes:
    return data.replace(b"{ns}", place.namespace.encode()).replace(b"{group}", place.group.encode())


def normalise(answer: Any, place: Place) -> Any:
    """Replace what differs between two runs: uids, times, versions, names of the test."""
    normal = _normal(answer, place)
    details = normal["body"].get("details") if isinstance(normal["body"], dict) else None
    if details and "causes" in details:
        # Go iterates maps in random order, so the causes come in any order.
        details["causes"].sort(key=lambda cause: orjson.dumps(cause))
        normal["body"]["message"] = sorted(re.split(r"[\[\], ]+", normal["body"]["message"]))
    return normal


def _normal(value: Any, place: Place) -> Any:
    if isinstance(value, dict):
        return {key: _normal(child, place) for key, child in value.items()}
    if isinstance(value, list):
        return [_normal(child, place) for child in value]
    if not isinstance(value, str):
        return value
    value = value.replace(place.namespace, "NAMESPACE").replace(place.group, "GROUP")
    for pattern, replacement in _VOLATILE:
        value = pattern.sub(replacement, value)
    return value
