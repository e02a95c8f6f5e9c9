"""Read a landscape, the demo or a person's files, and put it into an API server once."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from webhook.api.core import ConfigMap, CustomResourceDefinition, Namespace
from webhook.api.crds import crd, definable
from webhook.api.kinds import Kind, find_kind, kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.cli.dev import demo
from webhook.cluster import landscape, requests
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.runtime.clock import Clock

NAMESPACES: Final = ("espalier-system", "garden", "gardener-system-seed-lease")
_MARKER: Final = ObjectKey("espalier-system", "dev-landscape")
_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_NAMESPACE: Final = kind_of_model(Namespace)
_DEFINITION: Final = kind_of_model(CustomResourceDefinition)
_ESTABLISH_SECONDS: Final = 30.0


class LandscapeError(Exception):
    """A landscape that cannot be loaded; the message says what to do."""


def read(choice: str) -> list[Draft]:
    """Give the objects of a landscape: `demo`, `empty`, or a file or folder of manifests."""
    if choice == "empty":
        return []
    if choice == "demo":
        return [*demo.objects()]
    path = Path(choice)
    if not path.exists():
        raise LandscapeError(f"--landscape {choice}: no such file; use demo, empty or a file")
    files = sorted(path.rglob("*.y*ml")) + sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return [draft for file in files for draft in _documents(file)]


def _documents(file: Path) -> Iterator[Draft]:
    try:
        found = [*yaml.safe_load_all(file.read_text())]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LandscapeError(f"{file}: not YAML: {error}") from error
    for number, document in enumerate(found, 1):
        if document is None:
            continue
        items = document.get("items", [document]) if isinstance(document, dict) else [document]
        for item in items:
            if not isinstance(item, dict) or not item.get("kind") or not item.get("apiVersion"):
                raise LandscapeError(f"{file}: document {number} has no apiVersion and kind")
            yield item


async def install(client: Client, clock: Clock) -> None:
    """Create the namespaces and definitions that a landscape stands on, and wait for them.

    On a real Gardener, too, kinds of extensions, machines and Tortoise are defined: nobody else
    installs them on a laptop, and the demo and the local provider have use for them.
    """
    for name in NAMESPACES:
        await _create(client, _NAMESPACE, {"metadata": {"name": name}})
    names = []
    found = await landscape.ask(client)
    for kind in definable(beside_gardener=False):
        if found.is_claimed(kind):
            continue  # a real Gardener serves it
        definition = crd(kind, beside_gardener=found.has_gardener, claimed=found.aggregated)
        names.append(definition["metadata"]["name"])
        await client.apply(
            _DEFINITION, ObjectKey("", names[-1]), definition, manager="espalier-dev"
        )
    deadline = clock.monotonic() + _ESTABLISH_SECONDS
    for name in names:
        while not _is_established(await client.get(_DEFINITION, ObjectKey("", name))):
            if clock.monotonic() > deadline:
                raise LandscapeError(f"the API server did not establish {name} in time")
            await clock.sleep(0.05)


def _is_established(definition: Draft) -> bool:
    conditions = definition.get("status", {}).get("conditions", [])
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


async def is_loaded(client: Client) -> bool:
    """Tell whether a landscape was loaded before: what people changed since then is kept."""
    try:
        await client.get(_CONFIG_MAP, _MARKER)
    except NotFoundError:
        return False
    return True


async def load(client: Client, drafts: Iterable[Draft], progress: Callable[[int], None]) -> None:
    """Create every object and its status; one that exists is left as it is."""
    done = 0
    async for kind, draft in _resolved(client, drafts):
        await _load_one(client, kind, draft)
        done += 1
        progress(done)
    await _create(
        client,
        _CONFIG_MAP,
        {
            "metadata": {"name": _MARKER.name, "namespace": _MARKER.namespace},
            "data": {"objects": str(done)},
        },
    )


async def _load_one(client: Client, kind: Kind, draft: Draft) -> None:
    status = draft.get("status")
    try:
        created = await _create(client, kind, draft)
        if created and status and kind.status:
            key = _key(kind, draft)
            await client.patch(kind, key, {"status": status}, subresource="status")
    except ApiError as error:
        name = _key(kind, draft)
        raise LandscapeError(f"{kind.name} {name}: {error}") from error


async def _create(client: Client, kind: Kind, draft: Draft) -> bool:
    body = {"apiVersion": kind.api_version, "kind": kind.name, **draft}
    try:
        await client.create(kind, _key(kind, draft), body)
    except AlreadyExistsError:
        return False
    return True


def _key(kind: Kind, draft: Draft) -> ObjectKey:
    metadata: dict[str, Any] = draft.get("metadata") or {}
    namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
    return ObjectKey(namespace, metadata.get("name", ""))


async def _resolved(client: Client, drafts: Iterable[Draft]) -> AsyncIterator[tuple[Kind, Draft]]:
    """Find each object's kind, in our table or by asking the server."""
    asked: dict[tuple[str, str], Kind] = {}
    for draft in drafts:
        wanted = (draft["apiVersion"], draft["kind"])
        kind = find_kind(*wanted) or asked.get(wanted)
        if kind is None:
            kind = asked[wanted] = await _ask(client, *wanted)
        yield kind, draft


async def _ask(client: Client, api_version: str, name: str) -> Kind:
    group, _, version = api_version.rpartition("/")
    prefix = f"/apis/{api_version}" if group else f"/api/{version}"
    try:
        resources = (await client.document(requests.Request("GET", prefix)))["resources"]
    except NotFoundError:
        resources = []
    for resource in resources:
        if resource["kind"] == name and "/" not in resource["name"]:
            has_status = any(each["name"] == f"{resource['name']}/status" for each in resources)
            return Kind(
                group=group,
                version=version,
                name=name,
                plural=resource["name"],
                model=Object,
                origin="kubernetes",
                namespaced=resource["namespaced"],
                status=has_status,
            )
    raise LandscapeError(f"the API server serves no {name} in {api_version}; load its CRD first")
