"""Carry out the actions of a plan, each guarded by what the plan took for granted."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from webhook.api.kinds import Kind
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.cluster.requests import Propagation
from webhook.runtime.actions import MANAGER, Apply, Create, Delete, Patch, Write
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)


class NotLeadingError(Exception):
    """A write was stopped because this replica no longer leads."""


class Api(Protocol):
    """The part of the client that writes."""

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
    """How a write left an object: at a version, or gone if that is empty."""

    kind: Kind
    key: ObjectKey
    version: str = ""
    uid: str = ""


class Writer:
    """Sends one action at a time; what is done already counts as done."""

    def __init__(
        self,
        api: Api,
        metrics: Metrics,
        may_write: Callable[[], bool] = lambda: True,
        *,
        manager: str = MANAGER,
    ) -> None:
        self._api = api
        self._metrics = metrics
        self._may_write = may_write
        self._query = {"fieldManager": manager}

    async def write(self, action: Write) -> Written | None:
        """Carry out an action; None if it was done already or its object is gone.

        Raises NotLeadingError if this replica lost its leadership since it planned, ConflictError
        if the object changed since then, and other ApiErrors as they come.
        """
        if not self._may_write():
            raise NotLeadingError
        name = type(action).__name__.lower()
        try:
            answer = await self._send(action)
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
        return _written(action, answer)

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
                    guarded(action),
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


def guarded(action: Patch) -> Raw | list[Raw]:
    """Put what must still hold into the patch itself: the API server compares both fields.

    A JSON patch states them too instead of testing them: a failed test is answered with 422, a
    wrong resourceVersion or uid with 409, as it should be.
    """
    guards = {"uid": action.uid, "resourceVersion": action.version}
    given = {name: value for name, value in guards.items() if value}
    if isinstance(action.change, Mapping):
        metadata: dict[str, Any] = {**(action.change.get("metadata") or {}), **given}
        return {**action.change, "metadata": metadata} if metadata else action.change
    operations: list[Raw] = [
        {"op": "replace", "path": f"/metadata/{name}", "value": value}
        for name, value in given.items()
    ]
    return [*operations, *action.change]


def _is_done(action: Write, error: ApiError) -> bool:
    if isinstance(action, Create):
        return isinstance(error, AlreadyExistsError)
    return isinstance(error, NotFoundError) and isinstance(action, Patch | Delete)


def _written(action: Write, answer: Draft) -> Written:
    metadata = answer.get("metadata") or {}
    # A deletion that is complete is answered with a Status, which is no object.
    if answer.get("kind") == "Status" or not metadata.get("resourceVersion"):
        uid = action.uid if isinstance(action, Delete) else ""
        return Written(action.kind, action.key, uid=uid)
    return Written(action.kind, action.key, metadata["resourceVersion"], metadata.get("uid") or "")
