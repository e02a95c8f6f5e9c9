"""The types, variables, functions and macros that Kubernetes declares for expressions."""

from typing import Final

BOOL: Final = "bool"
INT: Final = "int"
UINT: Final = "uint"
DOUBLE: Final = "double"
STRING: Final = "string"
BYTES: Final = "bytes"
NULL: Final = "null_type"
DYN: Final = "dyn"
LIST: Final = "list(dyn)"
MAP: Final = "map(dyn, dyn)"
TYPE: Final = "type"
DURATION: Final = "google.protobuf.Duration"
TIMESTAMP: Final = "google.protobuf.Timestamp"
AUTHORIZER: Final = "kubernetes.authorization.Authorizer"
PATH_CHECK: Final = "kubernetes.authorization.PathCheck"
GROUP_CHECK: Final = "kubernetes.authorization.GroupCheck"
RESOURCE_CHECK: Final = "kubernetes.authorization.ResourceCheck"
DECISION: Final = "kubernetes.authorization.Decision"
REQUEST: Final = "kubernetes.AdmissionRequest"

NUMBERS: Final = frozenset({INT, UINT, DOUBLE})

TYPES: Final = dict.fromkeys(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"), TYPE
)
"""The names of types, which are values as well."""
VARIABLES: Final = {
    "object": DYN,
    "oldObject": DYN,
    "namespaceObject": DYN,
    "request": REQUEST,
    "authorizer": AUTHORIZER,
    **TYPES,
}
"""The variables of match conditions."""

_KIND: Final = {"group": STRING, "version": STRING, "kind": STRING}
_RESOURCE: Final = {"group": STRING, "version": STRING, "resource": STRING}
_USER: Final = {"username": STRING, "uid": STRING, "groups": "list(string)", "extra": MAP}

FIELDS: Final = {
    REQUEST: {
        "kind": "kubernetes.GroupVersionKind",
        "resource": "kubernetes.GroupVersionResource",
        "subResource": STRING,
        "requestKind": "kubernetes.GroupVersionKind",
        "requestResource": "kubernetes.GroupVersionResource",
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": "kubernetes.UserInfo",
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.GroupVersionKind": _KIND,
    "kubernetes.GroupVersionResource": _RESOURCE,
    "kubernetes.UserInfo": _USER,
    AUTHORIZER: {"requestResource": RESOURCE_CHECK},
}
"""The fields of types that declare them; other types have none or any."""

FUNCTIONS: Final = {
    "size": INT,
    "type": TYPE,
    "dyn": DYN,
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "string": STRING,
    "uint": UINT,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "matches": BOOL,
    **dict.fromkeys(("getFullYear", "getMonth", "getDayOfMonth", "getDayOfWeek"), INT),
    **dict.fromkeys(("getHours", "getMinutes", "getSeconds", "getMilliseconds"), INT),
}
"""Functions by name, with their result types."""
METHODS: Final = {
    **FUNCTIONS,
    **dict.fromkeys(("startsWith", "endsWith", "contains", "matches", "isSorted"), BOOL),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "replace", "substring", "charAt"), STRING),
    **dict.fromkeys(("join", "find"), STRING),
    **dict.fromkeys(("split", "findAll"), "list(string)"),
    **dict.fromkeys(("indexOf", "lastIndexOf"), INT),
    **dict.fromkeys(("min", "max", "sum"), DYN),
    "path": PATH_CHECK,
    "group": GROUP_CHECK,
    "serviceAccount": AUTHORIZER,
    **dict.fromkeys(("resource", "subresource", "namespace", "name"), RESOURCE_CHECK),
    "check": DECISION,
    "allowed": BOOL,
    "errored": BOOL,
    **dict.fromkeys(("reason", "error"), STRING),
}
"""Methods by name, with their result types."""
STRING_METHODS: Final = {
    "startsWith": (STRING,),
    "endsWith": (STRING,),
    "contains": (STRING,),
    "matches": (STRING,),
}
"""Methods of strings only, with the types of their arguments."""
MACROS: Final = {
    "all": BOOL,
    "exists": BOOL,
    "exists_one": BOOL,
    "filter": LIST,
    "map": LIST,
}
"""Macros by name, with their result types."""
UNSUPPORTED: Final = frozenset(
    {
        *("optional", "none", "of", "ofNonZeroValue", "hasValue", "value", "or", "orValue"),
        *("optMap", "optFlatMap", "quantity", "isQuantity", "url", "isURL", "ip", "isIP", "cidr"),
        *("isCIDR", "semver", "isSemver", "sets", "format", "named", "validate", "distinct"),
        *("sort", "sortBy", "flatten", "reverse", "slice", "fieldSelector", "labelSelector"),
        *("bind", "cel", "existsOne", "first", "last", "greatest", "least", "math", "strings"),
        *("transformList", "transformMap", "transformMapEntry", "quote", "jsonpatch", "base64"),
        *("add", "sub", "asInteger", "asApproximateFloat", "isInteger", "compareTo", "sign"),
        *("isGreaterThan", "isLessThan", "getScheme", "getHost", "getHostname", "getPort"),
        *("getEscapedPath", "getQuery", "family", "isUnspecified", "isLoopback", "containsIP"),
        *("containsCIDR", "prefixLength", "masked", "major", "minor", "patch", "intersects"),
        *("equivalent", "getDate", "range", "lists"),
    }
)
"""Names that Kubernetes declares and this API server does not support."""


def element_of(kind: str) -> str:
    """Return the type of the items of a list or of the values of a map."""
    inner = _inside(kind)
    return inner if kind.startswith("list(") else inner.partition(", ")[2] or DYN


def key_of(kind: str) -> str:
    """Return the type of the keys of a map."""
    return _inside(kind).partition(", ")[0]


def _inside(kind: str) -> str:
    if kind.startswith(("list(", "map(")) and kind.endswith(")"):
        return kind.partition("(")[2][:-1]
    return DYN
