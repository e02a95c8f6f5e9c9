"""Build requests to an API server; pure, nothing is sent here."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from webhook.api.kinds import Kind
from webhook.api.meta import ObjectKey, Raw

Query: TypeAlias = Mapping[str, str]
Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]

PAGE_SIZE: Final = 250

_JSON: Final = "application/json"
_NO_QUERY: Final[Query] = {}


class Request(NamedTuple):
    """One request: what, where, and with which body."""

    method: str
    path: str
    query: Query = _NO_QUERY
    body: bytes | None = None
    content_type: str = _JSON


_BY_NAME: Final = "metadata.name="


class Selection(NamedTuple):
    """The objects of a kind that are of interest: all of them, or of one namespace, or labelled."""

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

    def may_hold(self, key: ObjectKey) -> bool:
        """Tell whether an object of that key can be among them; its labels may still say no."""
        wanted = self.fields.removeprefix(_BY_NAME)
        is_named = wanted in (self.fields, key.name)
        return is_named and self.namespace in ("", key.namespace)


class NotPutError(ValueError):
    """Raised for a PUT of a kind of which we keep only a part: it would erase the rest."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"{kind.name} is kept in part only: patch it, never put it")


def path_of(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Give the path of exactly this group and version of a kind."""
    prefix = f"/apis/{kind.group}" if kind.group else "/api"
    parts = [prefix, kind.version]
    if kind.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts += [kind.plural, *(quote(part, safe="") for part in (name, subresource) if part)]
    return "/".join(parts)


def get(kind: Kind, key: ObjectKey, subresource: str = "") -> Request:
    """Read one object."""
    return Request("GET", path_of(kind, key.namespace, key.name, subresource))


def list_page(selection: Selection, token: str = "", limit: int = PAGE_SIZE) -> Request:
    """Read one page of a list; without a resourceVersion, so that it is up to date."""
    query = {**selection.query}
    if limit:
        query["limit"] = str(limit)
    if token:
        query["continue"] = token
    return Request("GET", selection.path, query)


def watch(selection: Selection, version: str, seconds: int) -> Request:
    """Follow what changes after a version, for so many seconds."""
    query = {
        **selection.query,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
        "resourceVersion": version,
    }
    return Request("GET", selection.path, query)


def stream_list(selection: Selection, seconds: int) -> Request:
    """Read all objects as events, and go on following them."""
    query = {
        **selection.query,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(seconds),
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    return Request("GET", selection.path, query)


def create(
    kind: Kind, key: ObjectKey, draft: Raw, *, subresource: str = "", query: Query = _NO_QUERY
) -> Request:
    """Create an object, or post to a subresource of one; a key without a name is fine."""
    name = key.name if subresource else ""
    path = path_of(kind, key.namespace, name, subresource)
    return Request("POST", path, query, _encode(kind, draft, subresource))


def update(
    kind: Kind, key: ObjectKey, draft: Raw, *, subresource: str = "", query: Query = _NO_QUERY
) -> Request:
    """Replace an object; its resourceVersion guards against erasing what others wrote."""
    if kind.stored == "read" and subresource in {"", "status"}:
        raise NotPutError(kind)
    path = path_of(kind, key.namespace, key.name, subresource)
    return Request("PUT", path, query, _encode(kind, draft, subresource))


def patch(
    kind: Kind,
    key: ObjectKey,
    change: Raw | Sequence[Raw],
    *,
    subresource: str = "",
    query: Query = _NO_QUERY,
) -> Request:
    """Change an object by a merge patch (a mapping) or a JSON patch (a list of operations)."""
    merges = isinstance(change, Mapping)
    content_type = "application/merge-patch+json" if merges else "application/json-patch+json"
    path = path_of(kind, key.namespace, key.name, subresource)
    return Request("PATCH", path, query, msgspec.json.encode(change), content_type)


def apply(
    kind: Kind,
    key: ObjectKey,
    draft: Raw,
    *,
    manager: str,
    force: bool = True,
    subresource: str = "",
) -> Request:
    """Declare the fields that a manager cares for; the server merges them."""
    query = {"fieldManager": manager, "force": "true" if force else "false"}
    path = path_of(kind, key.namespace, key.name, subresource)
    # JSON is YAML; servers before 1.33 know no application/apply-patch+json.
    body = _encode(kind, draft, subresource)
    return Request("PATCH", path, query, body, "application/apply-patch+yaml")


def delete(
    kind: Kind,
    key: ObjectKey,
    *,
    uid: str = "",
    version: str = "",
    propagation: Propagation = "Background",
    query: Query = _NO_QUERY,
) -> Request:
    """Delete an object, if it still is the one with this uid and, where given, version."""
    preconditions = {"uid": uid, "resourceVersion": version}
    options: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": propagation,
    }
    if given := {name: value for name, value in preconditions.items() if value}:
        options["preconditions"] = given
    path = path_of(kind, key.namespace, key.name)
    return Request("DELETE", path, query, msgspec.json.encode(options))


def post(path: str, document: Raw) -> Request:
    """Ask a question that is put as an object, such as a SubjectAccessReview."""
    return Request("POST", path, _NO_QUERY, msgspec.json.encode(document))


def _encode(kind: Kind, draft: Raw, subresource: str) -> bytes:
    """Write an object; one of the kind itself says so, which items of a list need not."""
    if subresource in {"", "status"}:
        draft = {"apiVersion": kind.api_version, "kind": kind.name, **draft}
    return msgspec.json.encode(draft)
