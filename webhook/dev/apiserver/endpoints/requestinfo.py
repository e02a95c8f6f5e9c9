"""The resource and verb of a request, parsed from its method, path and query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
"""Subresources of Namespaces; other segments after a namespace are resources."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The segments of a path below /api or /apis."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_path(parts: list[str]) -> RequestInfo | None:
    """Parse the segments of a path; None if it does not name a resource."""
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES)
    ):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 1 and not group:
        namespace = rest[1]
    if len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    return RequestInfo(group, version, rest[0], namespace, name, rest[2] if len(rest) > 2 else "")


def verb_of(method: str, info: RequestInfo, query: Mapping[str, str]) -> str:
    """Return the verb of a request in the terms of RBAC."""
    if method in ("GET", "HEAD"):
        if info.name:
            return "get"
        return "watch" if is_true(query.get("watch", "")) else "list"
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
    if method == "DELETE":
        return "delete" if info.name else "deletecollection"
    return verbs.get(method, "")


def is_true(text: str) -> bool:
    """Parse a boolean query parameter as Go's strconv.ParseBool; invalid values are false."""
    return text in ("1", "t", "T", "true", "TRUE", "True")
