"""Live reads: what a decision needs and the cache does not hold is read from the API server."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from webhook.api.decode import decode
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import DECODE_ERRORS, ApiError, NotFoundError
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.state.live_reads import (
    AccessReview,
    LiveGet,
    LiveList,
    LiveRead,
    LiveResult,
    LiveResults,
    RemoteGet,
    Unreachable,
)

ACCESS_CACHE_SECONDS: Final = 10.0
"""How long a permission that was revoked may still be used to choose seeds."""

_MAX_CACHED: Final = 1024

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class LiveReadError(Exception):
    """The API server did not answer in time, which is no verdict about the request."""


class AccessCache:
    """Caches access reviews for a few seconds, because requests of one user come in bursts.

    Only permissions are cached and no denials, so that a new permission counts at once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._granted: dict[AccessReview, float] = {}

    def allows(self, read: LiveRead) -> bool:
        """Return whether the cache holds a permission for this access review."""
        until = self._granted.get(read) if isinstance(read, AccessReview) else None
        return until is not None and self._clock.monotonic() < until

    def update(self, results: LiveResults) -> None:
        """Cache the permissions among some results."""
        until = self._clock.monotonic() + ACCESS_CACHE_SECONDS
        if len(self._granted) >= _MAX_CACHED:
            self._granted.clear()
        granted = (
            read
            for read, allowed in results.items()
            if isinstance(read, AccessReview) and allowed is True
        )
        self._granted.update(dict.fromkeys(granted, until))


async def read_live(client: Client, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
    """Carry out all reads at once; raises LiveReadError unless all succeed within the time.

    An object that the API server does not have is None. Any other failure is no result.
    """
    reads = [*live_reads]
    failure: Exception | None = None
    tasks: list[asyncio.Task[LiveResult]] = []
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read(client, read, seconds)) for read in reads]
    except* (ApiError, TimeoutError, *DECODE_ERRORS) as failures:
        failure = failures.exceptions[0]
    if failure is not None:
        why = str(failure) or "no answer in time"
        raise LiveReadError(f"the API server could not be read: {why}") from failure
    return {read: task.result() for read, task in zip(reads, tasks, strict=True)}


async def _read(client: Client, read: LiveRead, seconds: float) -> LiveResult:
    if isinstance(read, RemoteGet):
        raise TypeError("a RemoteGet is read with the client of its own cluster")
    if isinstance(read, AccessReview):
        return await _review(client, read, seconds)
    if isinstance(read, LiveList):
        labels = f"{read.label}={read.value}"
        return tuple(await client.list_objects(read.model, read.namespace, labels))
    return await _get(client, read, seconds)


async def read_remote(client: Client, read: RemoteGet, seconds: float) -> LiveResult:
    """Get an object with a client of its cluster; any failure makes the cluster unreachable."""
    try:
        async with asyncio.timeout(seconds):
            return await _get_object(client, read.kind, read.key, seconds)
    except (ApiError, TimeoutError, *DECODE_ERRORS) as error:
        return Unreachable(str(error) or "no answer in time")


async def _get(client: Client, read: LiveGet, seconds: float) -> Object | None:
    return await _get_object(client, kind_of_model(read.model), read.key, seconds)


async def _get_object(client: Client, kind: Kind, key: ObjectKey, seconds: float) -> Object | None:
    try:
        return decode(kind.model, await client.send(requests.get(kind, key), seconds))
    except NotFoundError:
        return None


async def _review(client: Client, access: AccessReview, seconds: float) -> bool:
    attributes = {
        "verb": access.verb,
        "group": access.group,
        "resource": access.resource,
        "subresource": access.subresource,
        "namespace": access.namespace,
        "name": access.name,
    }
    spec: dict[str, Any] = {
        "user": access.username,
        "uid": access.uid,
        "groups": access.groups,
        "extra": dict(access.extra),
        "resourceAttributes": attributes,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    document = await client.document(requests.post(_REVIEWS, review), seconds)
    return document.get("status", {}).get("allowed") is True
