"""Requests to an API server as values; pure, nothing is sent here."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from webhook.api.kinds import Kind
from webhook.kube.meta import ObjectKey, Raw

Query: TypeAlias = Mapping[str, str]
Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]

PAGE_SIZE: Final = 250

_JSON: Final = "application/json"
_NO_QUERY: Final[Query] = {}


class ApiRequest(NamedTuple):
    """One HTTP request."""

    method: str
    path: str
    query: Query = _NO_QUERY
    body: bytes | None = None
    content_type: str = _JSON


_BY_NAME: Final = "metadata.name="


class Selection(NamedTuple):
    """The objects of a kind to list or watch: all, of one namespace, or by a selector."""

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def path(self) -> str:
        return path_of(self.kind, self.namespace)

    @property
    def query(self) -> Query:
        selectors = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in selectors.items() if value}

    def may_match(self, key: ObjectKey) -> bool:
        """Return whether an object with that key can match; its labels may still exclude it."""
        wanted = self.fields.removeprefix(_BY_NAME)
        is_named = wanted in (self.fields, key.name)
        return is_named and self.namespace in ("", key.namespace)


class PartialUpdateError(ValueError):
    """Raised for a PUT of a kind of which we decode only a part: it would erase the rest."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"{kind.name} is decoded in part only: patch it, never put it")


def path_of(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Return the path of a kind in its group and version."""
    prefix = f"/apis/{kind.group}" if kind.group else "/api"
    parts = [prefix, kind.version]
    if kind.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts += [kind.plural, *(quote(part, safe="") for part in (name, subresource) if part)]
    return "/".join(parts)


def get(kind: Kind, key: ObjectKey, subresource: str = "") -> ApiRequest:
    """Read one object."""
    return ApiRequest("GET", path_of(kind, key.namespace, key.name, subresource))


def list_page(selection: Selection, token: str = "", limit: int = PAGE_SIZE) -> ApiRequest:
    """Read one page of a list; without a resourceVersion, so that it is consistent."""
    query = {**selection.query}
    if limit:
        query["limit"] = str(limit)
    if token:
        query["continue"] = token
    return ApiRequest("GET", selection.path, query)


def watch(selection: Selection, version: str, seconds: int) -> ApiRequest:
    """Watch the changes after a version, for so many seconds."""
    query = {
        **selection.query,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
        "resourceVersion": version,
    }
    return ApiRequest("GET", selection.path, query)


def stream_list(selection: Selection, seconds: int) -> ApiRequest:
    """Read all objects as events on a watch (a streaming list), and continue to watch."""
    query = {
        **selection.query,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    return ApiRequest("GET", selection.path, query)


def create(
    kind: Kind, key: ObjectKey, draft: Raw, *, subresource: str = "", query: Query = _NO_QUERY
) -> ApiRequest:
    """Create an object, or post to a subresource; the key may have no name."""
    name = key.name if subresource else ""
    path = path_of(kind, key.namespace, name, subresource)
    return ApiRequest("POST", path, query, _encode(kind, draft, subresource))


def update(
    kind: Kind, key: ObjectKey, draft: Raw, *, subresource: str = "", query: Query = _NO_QUERY
) -> ApiRequest:
    """Replace an object; its resourceVersion guards against lost updates."""
    if kind.stored == "read" and subresource in {"", "status"}:
        raise PartialUpdateError(kind)
    path = path_of(kind, key.namespace, key.name, subresource)
    return ApiRequest("PUT", path, query, _encode(kind, draft, subresource))


def patch(
    kind: Kind,
    key: ObjectKey,
    change: Raw | Sequence[Raw],
    *,
    subresource: str = "",
    query: Query = _NO_QUERY,
) -> ApiRequest:
    """Change an object by a merge patch (a mapping) or a JSON patch (a list of operations)."""
    merges = isinstance(change, Mapping)
    content_type = "application/merge-patch+json" if merges else "application/json-patch+json"
    path = path_of(kind, key.namespace, key.name, subresource)
    return ApiRequest("PATCH", path, query, msgspec.json.encode(change), content_type)


def apply(
    kind: Kind,
    key: ObjectKey,
    draft: Raw,
    *,
    manager: str,
    force: bool = True,
    subresource: str = "",
) -> ApiRequest:
    """Apply the fields that a field manager owns (server-side apply).

    Name and namespace go into the body as well: without them no object would be created.
    """
    query = {"fieldManager": manager, "force": "true" if force else "false"}
    path = path_of(kind, key.namespace, key.name, subresource)
    # JSON is YAML; servers before 1.33 do not know application/apply-patch+json.
    named = {"namespace": key.namespace, "name": key.name} if key.namespace else {"name": key.name}
    whole = {**draft, "metadata": {**named, **(draft.get("metadata") or {})}}
    body = _encode(kind, whole, subresource)
    return ApiRequest("PATCH", path, query, body, "application/apply-patch+yaml")


def delete(
    kind: Kind,
    key: ObjectKey,
    *,
    uid: str = "",
    version: str = "",
    propagation: Propagation = "Background",
    query: Query = _NO_QUERY,
) -> ApiRequest:
    """Delete an object, if it still has this uid and, if set, this version."""
    guards = {"uid": uid, "resourceVersion": version}
    options: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": propagation,
    }
    if preconditions := {name: value for name, value in guards.items() if value}:
        options["preconditions"] = preconditions
    path = path_of(kind, key.namespace, key.name)
    return ApiRequest("DELETE", path, query, msgspec.json.encode(options))


def post(path: str, document: Raw) -> ApiRequest:
    """Post a review object, such as a SubjectAccessReview."""
    return ApiRequest("POST", path, _NO_QUERY, msgspec.json.encode(document))


def _encode(kind: Kind, draft: Raw, subresource: str) -> bytes:
    """Encode an object; adds apiVersion and kind, which items of a list do not have."""
    if subresource in {"", "status"}:
        draft = {"apiVersion": kind.api_version, "kind": kind.name, **draft}
    return msgspec.json.encode(draft)
