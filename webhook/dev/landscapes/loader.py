"""Reads a landscape, the demo or manifest files, and loads it into an API server once."""

from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Final

from webhook.api.core import ConfigMap, CustomResourceDefinition, Namespace
from webhook.api.crds import crd, definable
from webhook.api.kinds import Kind, find_kind, kind_of_model
from webhook.cli import manifestfiles
from webhook.cli.manifestfiles import ManifestError
from webhook.cluster import discovery, requests
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.dev.landscapes import demo
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, Object, ObjectKey

NAMESPACES: Final = ("espalier-system", "garden", "gardener-system-seed-lease")
_MARKER: Final = ObjectKey("espalier-system", "dev-landscape")
_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_NAMESPACE: Final = kind_of_model(Namespace)
_DEFINITION: Final = kind_of_model(CustomResourceDefinition)
_ESTABLISH_SECONDS: Final = 30.0


class LandscapeError(Exception):
    """A landscape cannot be loaded; the message names the remedy."""


def read(choice: str) -> list[Draft]:
    """Return the objects of a landscape: `demo`, `empty`, or a file or folder of manifests."""
    if choice == "empty":
        return []
    if choice == "demo":
        return [*demo.objects()]
    path = Path(choice)
    if not path.exists():
        raise LandscapeError(f"--landscape {choice}: no such file; use demo, empty or a file")
    try:
        return [*manifestfiles.read_objects(path)]
    except ManifestError as error:
        raise LandscapeError(str(error)) from error


async def install(client: Client, clock: Clock) -> None:
    """Create the namespaces and CustomResourceDefinitions of a landscape, and wait for them.

    Beside a real Gardener, too, the kinds of extensions, machines and Tortoises are defined: the
    demo and the local provider use them, and nothing else installs them on a laptop.
    """
    for name in NAMESPACES:
        await _create(client, _NAMESPACE, {"metadata": {"name": name}})
    names = []
    found = await discovery.read_installed_apis(client)
    for kind in definable(beside_gardener=False):
        if found.is_claimed(kind):
            continue  # Gardener's API server serves it
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
    """Return whether a landscape was loaded before; it is not loaded again over later changes."""
    try:
        await client.get(_CONFIG_MAP, _MARKER)
    except NotFoundError:
        return False
    return True


async def load(client: Client, drafts: Iterable[Draft], progress: Callable[[int], None]) -> None:
    """Create every object with its status; existing objects stay as they are."""
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
    metadata: Draft = draft.get("metadata") or {}
    namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
    return ObjectKey(namespace, metadata.get("name", ""))


async def _resolved(client: Client, drafts: Iterable[Draft]) -> AsyncIterator[tuple[Kind, Draft]]:
    """Yield each object with its kind, from KINDS or from the server's discovery."""
    discovered: dict[tuple[str, str], Kind] = {}
    for draft in drafts:
        wanted = (draft["apiVersion"], draft["kind"])
        kind = find_kind(*wanted) or discovered.get(wanted)
        if kind is None:
            kind = discovered[wanted] = await _discover(client, *wanted)
        yield kind, draft


async def _discover(client: Client, api_version: str, name: str) -> Kind:
    group, _, version = api_version.rpartition("/")
    prefix = f"/apis/{api_version}" if group else f"/api/{version}"
    try:
        resources = (await client.document(requests.ApiRequest("GET", prefix)))["resources"]
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
