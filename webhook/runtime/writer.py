"""Carries out the writes of a plan, each with its preconditions."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.api.kinds import Kind
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.cluster.requests import Propagation
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.actions import FIELD_MANAGER, Apply, Create, Delete, Patch, Write
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)


class NotLeadingError(Exception):
    """A write was not sent, because this replica no longer leads."""


class WriteApi(Protocol):
    """The methods of the client that write."""

    async def create(
        self, kind: Kind, key: ObjectKey, draft: Raw, *, query: Mapping[str, str] = ...
    ) -> Draft: ...

    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = ...,
        query: Mapping[str, str] = ...,
    ) -> Draft: ...

    async def apply(
        self,
        kind: Kind,
        key: ObjectKey,
        draft: Raw,
        *,
        manager: str,
        force: bool = ...,
        subresource: str = ...,
    ) -> Draft: ...

    async def delete(
        self,
        kind: Kind,
        key: ObjectKey,
        *,
        uid: str = ...,
        version: str = ...,
        propagation: Propagation = ...,
    ) -> Draft: ...


class Written(NamedTuple):
    """The version of an object after a write; empty if it is deleted."""

    kind: Kind
    key: ObjectKey
    version: str = ""
    uid: str = ""


class Writer:
    """Sends writes; one whose result exists already counts as done."""

    def __init__(
        self,
        api: WriteApi,
        metrics: Metrics,
        may_write: Callable[[], bool] = lambda: True,
        *,
        manager: str = FIELD_MANAGER,
    ) -> None:
        self._api = api
        self._metrics = metrics
        self._may_write = may_write
        self._query = {"fieldManager": manager}

    async def write(self, action: Write) -> Written | None:
        """Carry out a write; None if its result existed already or the object is gone.

        Raises NotLeadingError if this replica no longer leads, ConflictError if the object has
        changed since the plan, and other ApiErrors.
        """
        if not self._may_write():
            raise NotLeadingError
        name = type(action).__name__.lower()
        try:
            response = await self._send(action)
        except (AlreadyExistsError, NotFoundError) as error:
            if not _is_done(action, error):
                self._count(name, action, type(error).__name__)
                raise
            self._count(name, action, "done")
            return None
        except ApiError as error:
            self._count(name, action, type(error).__name__)
            raise
        self._count(name, action, "ok")
        logger.info("wrote", extra={"action": name, "object": f"{action.kind.name} {action.key}"})
        return _written(action, response)

    def _count(self, name: str, action: Write, result: str) -> None:
        self._metrics.writes.labels(name, action.kind.name, result).inc()

    async def _send(self, action: Write) -> Draft:
        match action:
            case Create():
                body = {
                    "apiVersion": action.kind.api_version,
                    "kind": action.kind.name,
                    **action.body,
                }
                return await self._api.create(action.kind, action.key, body, query=self._query)
            case Patch():
                return await self._api.patch(
                    action.kind,
                    action.key,
                    with_preconditions(action),
                    subresource=action.subresource,
                    query=self._query,
                )
            case Apply():
                return await self._api.apply(
                    action.kind,
                    action.key,
                    action.body,
                    manager=action.manager,
                    force=action.force,
                    subresource=action.subresource,
                )
            case Delete():
                return await self._api.delete(
                    action.kind,
                    action.key,
                    uid=action.uid,
                    version=action.version,
                    propagation=action.propagation,
                )


def with_preconditions(action: Patch) -> Raw | list[Raw]:
    """Add uid and resourceVersion to a patch, so that the API server compares them.

    A JSON patch replaces the fields instead of testing them: the API server answers a failed test
    with 422, and a wrong resourceVersion or uid with 409.
    """
    guards = {"uid": action.uid, "resourceVersion": action.version}
    preconditions = {name: value for name, value in guards.items() if value}
    if isinstance(action.change, Mapping):
        metadata: dict[str, Any] = {**(action.change.get("metadata") or {}), **preconditions}
        return {**action.change, "metadata": metadata} if metadata else action.change
    operations: list[Raw] = [
        {"op": "replace", "path": f"/metadata/{name}", "value": value}
        for name, value in preconditions.items()
    ]
    return [*operations, *action.change]


def _is_done(action: Write, error: ApiError) -> bool:
    if isinstance(action, Create):
        return isinstance(error, AlreadyExistsError)
    return isinstance(error, NotFoundError) and isinstance(action, Patch | Delete)


def _written(action: Write, response: Draft) -> Written:
    metadata = response.get("metadata") or {}
    # The response to a completed deletion is a Status and not the object.
    if response.get("kind") == "Status" or not metadata.get("resourceVersion"):
        uid = action.uid if isinstance(action, Delete) else ""
        return Written(action.kind, action.key, uid=uid)
    return Written(action.kind, action.key, metadata["resourceVersion"], metadata.get("uid") or "")
