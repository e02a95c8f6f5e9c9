"""What a request asks for: its path and query, read as Kubernetes reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: Subresource names that follow a namespace's name instead of a resource's.
_NAMESPACE_PARTS: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """A path below /api or /apis, taken apart."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_path(parts: list[str]) -> Target | None:
    """Read the segments of a path; None for one that does not name a resource."""
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
        and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS)
    ):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) > 1 and not group:
        namespace = rest[1]
    if len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    return Target(group, version, rest[0], namespace, name, rest[2] if len(rest) > 2 else "")


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """Name what is asked for as RBAC does."""
    if method in ("GET", "HEAD"):
        if target.name:
            return "get"
        return "watch" if is_true(query.get("watch", "")) else "list"
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
    if method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return verbs.get(method, "")


def is_true(text: str) -> bool:
    """Read a boolean query parameter as Go's strconv.ParseBool, empty and unknown being false."""
    return text in ("1", "t", "T", "true", "TRUE", "True")
