"""BAD_REQUESTS: requests that every API server refuses, one row each; the ids name the fault."""

from collections.abc import Mapping
from typing import Any, NamedTuple

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
YAML = "application/yaml"

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
PODS = "/api/v1/namespaces/{ns}/pods"
SERVICES = "/api/v1/namespaces/{ns}/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
WIDGETS = "/apis/{group}/v1/namespaces/{ns}/widgets"
GONE = "/api/v1/namespaces/{ns}-gone/configmaps"
GONE_WIDGETS = "/apis/{group}/v1/namespaces/{ns}-gone/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIMIT = 3 * 1024 * 1024


class Bad(NamedTuple):
    """A request; `{ns}` and `{group}` in path and body are replaced by those of the test."""

    id: str
    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = {}
    content_type: str = ""
    accept: str = ""


def config_map(name: str = "new", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def widget(name: str = "new", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    spec = {"size": "small", **more.pop("spec", {})}
    base = {"apiVersion": "{group}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
    return {**base, **more}


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    pod = {"containers": [{"name": "c", "image": "i", **spec.pop("container", {})}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "new"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            **spec,
        },
    }


def definition(
    name: str = "things.example.com", version: Mapping[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    good = {"name": "v1", "served": True, "storage": True, "schema": OBJECT_SCHEMA}
    return {
        "metadata": {"name": name},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{**good, **(version or {})}],
            **spec,
        },
    }


def scale(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "exists", "namespace": "{ns}"}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec}


def options(**more: Any) -> dict[str, Any]:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **more}


DEPTH = 10_000
"""How deep Go's decoders nest."""


def nested(depth: int, opening: bytes = b'{"a":', inside: bytes = b"1") -> bytes:
    closing = {b"{": b"}", b"[": b"]", b"-": b""}[opening[:1]]
    return opening * depth + inside + closing * depth


OBJECT_SCHEMA = {"openAPIV3Schema": {"type": "object"}}
LOOSE_SCHEMA: dict[str, Any] = {
    "openAPIV3Schema": {"properties": {"spec": {"properties": {"a": {}}}}}
}
ME = {"fieldManager": "me"}
STRICT = {"fieldValidation": "Strict"}
BAD_REQUESTS = (
    # Bodies that cannot be decoded.
    Bad("a body that ends too early", "POST", MAPS, b"{"),
    Bad("a body that is no JSON", "POST", MAPS, b"not json"),
    Bad("a body with a trailing comma", "POST", WIDGETS, b'{"kind":"Widget",}'),
    Bad("a list instead of an object", "POST", MAPS, b"[]"),
    Bad("a string instead of an object", "POST", WIDGETS, b'"text"'),
    Bad("null instead of an object", "POST", MAPS, b"null"),
    Bad("an empty body", "POST", MAPS, b""),
    Bad("an empty body for a custom resource", "POST", WIDGETS, b""),
    Bad("a body that is no YAML", "POST", MAPS, b"a: [", content_type=YAML),
    Bad("a replacement that is no JSON", "PUT", f"{MAPS}/exists", b'{"a" 1}'),
    Bad("plain text", "POST", MAPS, b"text", content_type="text/plain"),
    Bad("plain text for a custom resource", "POST", WIDGETS, b"text", content_type="text/plain"),
    Bad("an answer that we cannot write", "GET", MAPS, accept="text/html"),
    Bad("more than a server reads", "POST", MAPS, b" " * (LIMIT + 1)),
    # Nested deeper than any decoder accepts.
    Bad("objects beyond the depth", "POST", WIDGETS, nested(DEPTH + 1)),
    Bad("objects beyond the depth, of a built-in kind", "POST", MAPS, nested(DEPTH + 1)),
    Bad("arrays beyond the depth", "POST", WIDGETS, b"[" * (DEPTH + 1)),
    Bad("a replacement beyond the depth", "PUT", f"{MAPS}/exists", nested(DEPTH + 1)),
    Bad(
        "YAML items beyond the depth", "POST", WIDGETS, nested(DEPTH + 1, b"- "), content_type=YAML
    ),
    Bad("YAML lists beyond the depth", "POST", MAPS, nested(DEPTH + 1, b"["), content_type=YAML),
    Bad(
        "YAML mappings beyond the depth",
        "POST",
        MAPS,
        nested(DEPTH + 1, b"{a: "),
        content_type=YAML,
    ),
    Bad(
        "YAML beyond the depth further down",
        "POST",
        WIDGETS,
        b"a: 1\nb:\n " + nested(DEPTH + 1, b"["),
        content_type=YAML,
    ),
    Bad(
        "YAML whose JSON is beyond the depth",
        "POST",
        WIDGETS,
        b"a:\n b:\n  " + nested(DEPTH, b"["),
        content_type=YAML,
    ),
    Bad(
        "a merge patch beyond the depth",
        "PATCH",
        f"{WIDGETS}/exists",
        nested(DEPTH + 1),
        content_type=MERGE_PATCH,
    ),
    Bad(
        "a JSON patch beyond the depth",
        "PATCH",
        f"{WIDGETS}/exists",
        b"[" * (DEPTH + 1),
        content_type=JSON_PATCH,
    ),
    Bad(
        "a strategic patch beyond the depth",
        "PATCH",
        f"{MAPS}/exists",
        nested(DEPTH + 1),
        content_type=STRATEGIC_PATCH,
    ),
    Bad(
        "an application beyond the depth",
        "PATCH",
        f"{WIDGETS}/new",
        nested(DEPTH + 1, b"{a: "),
        ME,
        APPLY_PATCH,
    ),
    Bad(
        "an application whose JSON is beyond the depth",
        "PATCH",
        f"{WIDGETS}/new",
        b"a:\n b:\n  " + nested(DEPTH, b"["),
        ME,
        APPLY_PATCH,
    ),
    # Unknown and duplicate fields.
    Bad("an unknown field", "POST", MAPS, config_map(colour="red"), STRICT),
    Bad(
        "an unknown field of a custom resource", "POST", WIDGETS, widget(spec={"colour": 1}), STRICT
    ),
    Bad(
        "unknown fields far down",
        "POST",
        DEPLOYMENTS,
        deployment(container={"colour": "red"}, hue=1),
        STRICT,
    ),
    Bad(
        "an unknown field of metadata", "POST", WIDGETS, widget(metadata={"colour": "red"}), STRICT
    ),
    Bad(
        "a field given twice",
        "POST",
        MAPS,
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"new"},"data":{"a":"1","a":"2"}}',
        STRICT,
    ),
    Bad(
        "a field of a custom resource given twice",
        "POST",
        WIDGETS,
        b'{"kind":"Widget","apiVersion":"{group}/v1","metadata":{"name":"new"},'
        b'"spec":{"size":"small","size":"large"}}',
        STRICT,
    ),
    Bad("an unknown strictness", "POST", MAPS, config_map(), {"fieldValidation": "Maybe"}),
    # Values of the wrong type or out of bounds.
    Bad("a number where text belongs", "POST", MAPS, config_map(data={"a": 1})),
    Bad("text where a map belongs", "POST", MAPS, config_map(data="x")),
    Bad("text where a number belongs", "POST", DEPLOYMENTS, deployment(replicas="3")),
    Bad("text where a custom number belongs", "POST", WIDGETS, widget(spec={"replicas": "3"})),
    Bad("text where a custom object belongs", "POST", WIDGETS, {**widget(), "spec": "x"}),
    Bad("a missing required field", "POST", WIDGETS, {**widget(), "spec": {}}),
    Bad(
        "a missing required part", "POST", WIDGETS, {"kind": "Widget", "metadata": {"name": "new"}}
    ),
    Bad("a value that is not in the enumeration", "POST", WIDGETS, widget(spec={"size": "huge"})),
    Bad("a value below the minimum", "POST", WIDGETS, widget(spec={"replicas": -1})),
    Bad("a value that does not match", "POST", WIDGETS, widget(spec={"code": "NO"})),
    Bad("a value that is too long", "POST", WIDGETS, widget(spec={"code": "a" * 20})),
    Bad("too many items", "POST", WIDGETS, widget(spec={"tags": ["a", "b", "c", "d"]})),
    Bad("an item twice in a set", "POST", WIDGETS, widget(spec={"tags": ["a", "a"]})),
    Bad(
        "a key twice in a map list",
        "POST",
        WIDGETS,
        widget(spec={"parts": [{"name": "a"}, {"name": "a"}]}),
    ),
    Bad("a null where none may be", "POST", WIDGETS, widget(spec={"parts": [None]})),
    Bad("text that is no date", "POST", WIDGETS, widget(spec={"when": "noon"})),
    Bad("several fields at once", "POST", WIDGETS, widget(spec={"size": "huge", "replicas": -1})),
    # Another kind than that of the path.
    Bad(
        "another kind",
        "POST",
        MAPS,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
    ),
    Bad("another version", "POST", MAPS, {**config_map(), "apiVersion": "v2"}),
    Bad("another kind of custom resource", "POST", WIDGETS, {**widget(), "kind": "Gadget"}),
    Bad("another group", "POST", WIDGETS, {**widget(), "apiVersion": "example.com/v1"}),
    # Names and metadata.
    Bad("a name in upper case", "POST", MAPS, config_map("Nope")),
    Bad("a custom resource's name in upper case", "POST", WIDGETS, widget("Nope")),
    Bad("a name that is too long", "POST", MAPS, config_map("a" * 254)),
    Bad("no name at all", "POST", WIDGETS, {**widget(), "metadata": {}}),
    Bad("a built-in without a name", "POST", MAPS, {**config_map(), "metadata": {}}),
    Bad(
        "a prefix that cannot begin a name",
        "POST",
        MAPS,
        {**config_map(), "metadata": {"generateName": "A_"}},
    ),
    Bad(
        "a namespace's name with a dot", "POST", "/api/v1/namespaces", {"metadata": {"name": "a.b"}}
    ),
    Bad(
        "a service's name with a dot",
        "POST",
        SERVICES,
        {"metadata": {"name": "a.b"}, "spec": {"ports": [{"port": 1}]}},
    ),
    Bad("a label's key", "POST", MAPS, config_map(metadata={"labels": {"-a": "b"}})),
    Bad("a label's value", "POST", WIDGETS, widget(metadata={"labels": {"a": "-b"}})),
    Bad("an annotation's key", "POST", MAPS, config_map(metadata={"annotations": {"a/b/c": "d"}})),
    Bad(
        "annotations that are too large",
        "POST",
        MAPS,
        config_map(metadata={"annotations": {"a": "b" * 300_000}}),
    ),
    Bad("a label that is no text", "POST", WIDGETS, widget(metadata={"labels": {"a": 1}})),
    Bad(
        "an owner without a uid",
        "POST",
        MAPS,
        config_map(
            metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}
        ),
    ),
    Bad("a finalizer's name", "POST", WIDGETS, widget(metadata={"finalizers": ["a/b/c"]})),
    Bad("a key of a config map", "POST", MAPS, config_map(data={"a b": "c"})),
    Bad(
        "secret data that is no base64",
        "POST",
        SECRETS,
        {"metadata": {"name": "new"}, "data": {"a": "%"}},
    ),
    # Namespaces and paths.
    Bad("a namespace that is not there", "POST", GONE, config_map()),
    Bad("a custom resource in such a namespace", "POST", GONE_WIDGETS, widget()),
    Bad(
        "another namespace than in the path",
        "POST",
        MAPS,
        config_map(metadata={"namespace": "default"}),
    ),
    Bad("an object that is not there", "GET", f"{MAPS}/gone"),
    Bad("a custom object that is not there", "GET", f"{WIDGETS}/gone"),
    Bad("a group that is not there", "GET", "/apis/nowhere.example.com/v1/things"),
    Bad("a resource that is not there", "GET", "/api/v1/namespaces/{ns}/things"),
    Bad("a subresource that is not there", "GET", f"{WIDGETS}/exists/colour"),
    Bad("a status where there is none", "GET", f"{MAPS}/exists/status"),
    Bad("replacing a whole collection", "PUT", MAPS, config_map()),
    Bad("creating below a name", "POST", f"{MAPS}/exists", config_map()),
    Bad("deleting all namespaces", "DELETE", "/api/v1/namespaces"),
    # Conflicts.
    Bad("a name that is taken", "POST", MAPS, config_map("exists")),
    Bad("a custom resource's name that is taken", "POST", WIDGETS, widget("exists")),
    Bad("a version for something new", "POST", MAPS, config_map(metadata={"resourceVersion": "1"})),
    Bad(
        "a version of the past",
        "PUT",
        f"{MAPS}/exists",
        config_map("exists", metadata={"resourceVersion": "1"}),
    ),
    Bad(
        "a custom resource's version of the past",
        "PUT",
        f"{WIDGETS}/exists",
        widget("exists", metadata={"resourceVersion": "1"}),
    ),
    Bad("a replacement without a version", "PUT", f"{WIDGETS}/exists", widget("exists")),
    Bad(
        "a version that is no number",
        "PUT",
        f"{WIDGETS}/exists",
        widget("exists", metadata={"resourceVersion": "new"}),
    ),
    Bad("a replacement of another name", "PUT", f"{MAPS}/exists", config_map("other")),
    Bad("a replacement without a name", "PUT", f"{MAPS}/exists", {**config_map(), "metadata": {}}),
    Bad("a replacement of what is not there", "PUT", f"{MAPS}/gone", config_map("gone")),
    Bad(
        "a replacement of another uid",
        "PUT",
        f"{MAPS}/exists",
        config_map("exists", metadata={"uid": "other"}),
    ),
    # Patches.
    Bad("a patch that is no JSON", "PATCH", f"{MAPS}/exists", b"{", content_type=MERGE_PATCH),
    Bad("a merge patch that is a list", "PATCH", f"{MAPS}/exists", b"[]", content_type=MERGE_PATCH),
    Bad(
        "a JSON patch that is an object", "PATCH", f"{MAPS}/exists", b"{}", content_type=JSON_PATCH
    ),
    Bad(
        "a JSON patch of what is not there",
        "PATCH",
        f"{MAPS}/exists",
        [{"op": "remove", "path": "/data/none/more"}],
        content_type=JSON_PATCH,
    ),
    Bad(
        "a JSON patch whose test fails",
        "PATCH",
        f"{WIDGETS}/exists",
        [{"op": "test", "path": "/spec/size", "value": "large"}],
        content_type=JSON_PATCH,
    ),
    Bad(
        "a JSON patch with an unknown operation",
        "PATCH",
        f"{WIDGETS}/exists",
        [{"op": "paint", "path": "/spec"}],
        content_type=JSON_PATCH,
    ),
    Bad(
        "a JSON patch with too many operations",
        "PATCH",
        f"{MAPS}/exists",
        [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001,
        content_type=JSON_PATCH,
    ),
    Bad(
        "a strategic patch of a custom resource",
        "PATCH",
        f"{WIDGETS}/exists",
        b"{}",
        content_type=STRATEGIC_PATCH,
    ),
    Bad(
        "a strategic patch that is no JSON",
        "PATCH",
        f"{MAPS}/exists",
        b"{",
        content_type=STRATEGIC_PATCH,
    ),
    Bad(
        "an unknown type of patch",
        "PATCH",
        f"{MAPS}/exists",
        b"{}",
        content_type="application/json",
    ),
    Bad("force without apply", "PATCH", f"{MAPS}/exists", {}, {"force": "true"}, MERGE_PATCH),
    Bad("a patch of what is not there", "PATCH", f"{MAPS}/gone", {"data": {}}, {}, MERGE_PATCH),
    Bad(
        "a patch that renames",
        "PATCH",
        f"{MAPS}/exists",
        {"metadata": {"name": "other"}},
        {},
        MERGE_PATCH,
    ),
    Bad(
        "a patch that moves",
        "PATCH",
        f"{WIDGETS}/exists",
        {"metadata": {"namespace": "default"}},
        {},
        MERGE_PATCH,
    ),
    Bad(
        "a patch of a past version",
        "PATCH",
        f"{MAPS}/exists",
        {"metadata": {"resourceVersion": "1"}},
        {},
        MERGE_PATCH,
    ),
    Bad(
        "a patch to a bad value",
        "PATCH",
        f"{WIDGETS}/exists",
        {"spec": {"size": "huge"}},
        {},
        MERGE_PATCH,
    ),
    Bad(
        "a patch that changes the uid",
        "PATCH",
        f"{WIDGETS}/exists",
        {"metadata": {"uid": "x"}},
        {},
        MERGE_PATCH,
    ),
    Bad(
        "a patch that adds a bad label",
        "PATCH",
        f"{WIDGETS}/exists",
        {"metadata": {"labels": {"a": "-b"}}},
        {},
        MERGE_PATCH,
    ),
    Bad("apply by nobody", "PATCH", f"{MAPS}/exists", config_map("exists"), {}, APPLY_PATCH),
    Bad(
        "apply of what others own",
        "PATCH",
        f"{MAPS}/exists",
        config_map("exists", data={"a": "2"}),
        ME,
        APPLY_PATCH,
    ),
    Bad(
        "apply with managed fields",
        "PATCH",
        f"{MAPS}/exists",
        config_map("exists", metadata={"managedFields": []}),
        ME,
        APPLY_PATCH,
    ),
    Bad("apply of another name", "PATCH", f"{MAPS}/exists", config_map("other"), ME, APPLY_PATCH),
    Bad("apply of another kind", "PATCH", f"{MAPS}/exists", widget("exists"), ME, APPLY_PATCH),
    Bad("apply of what is no YAML", "PATCH", f"{MAPS}/exists", b"a: [", ME, APPLY_PATCH),
    Bad(
        "apply of an unknown field",
        "PATCH",
        f"{WIDGETS}/exists",
        widget("exists", spec={"colour": 1}),
        ME,
        APPLY_PATCH,
    ),
    Bad(
        "apply by someone with a long name",
        "PATCH",
        f"{MAPS}/exists",
        config_map("exists"),
        {"fieldManager": "m" * 129},
        APPLY_PATCH,
    ),
    # Selectors and lists.
    Bad("a label selector without an operator", "GET", MAPS, query={"labelSelector": "a b"}),
    Bad("a label selector with a bad key", "GET", WIDGETS, query={"labelSelector": "-a=b"}),
    Bad("a label selector with a bad value", "GET", MAPS, query={"labelSelector": "a in (-b)"}),
    Bad("a label selector that is cut off", "GET", MAPS, query={"labelSelector": "a in (b"}),
    Bad(
        "a field selector without an operator",
        "GET",
        MAPS,
        query={"fieldSelector": "metadata.name"},
    ),
    Bad("a field that cannot be selected", "GET", MAPS, query={"fieldSelector": "data.a=b"}),
    Bad(
        "a field of pods that cannot be selected",
        "GET",
        PODS,
        query={"fieldSelector": "spec.colour=red"},
    ),
    Bad(
        "a custom field that cannot be selected",
        "GET",
        WIDGETS,
        query={"fieldSelector": "spec.size=small"},
    ),
    Bad("a continue token that is none", "GET", MAPS, query={"continue": "nonsense", "limit": "1"}),
    Bad("a limit that is no number", "GET", MAPS, query={"limit": "many"}),
    Bad("a version that is no number in a list", "GET", MAPS, query={"resourceVersion": "new"}),
    Bad("a match without a version", "GET", MAPS, query={"resourceVersionMatch": "Exact"}),
    Bad(
        "an unknown match",
        "GET",
        MAPS,
        query={"resourceVersion": "1", "resourceVersionMatch": "About"},
    ),
    Bad(
        "exactly any version",
        "GET",
        WIDGETS,
        query={"resourceVersion": "0", "resourceVersionMatch": "Exact"},
    ),
    Bad("a list with initial events", "GET", MAPS, query={"sendInitialEvents": "true"}),
    Bad(
        "a watch with a match alone",
        "GET",
        MAPS,
        query={"watch": "1", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
    ),
    Bad(
        "a watch with initial events alone",
        "GET",
        MAPS,
        query={"watch": "1", "sendInitialEvents": "true"},
    ),
    Bad(
        "a watch from a version that is no number",
        "GET",
        MAPS,
        query={"watch": "1", "resourceVersion": "new"},
    ),
    # Deletions.
    Bad("deleting what is not there", "DELETE", f"{WIDGETS}/gone"),
    Bad(
        "an unknown propagation",
        "DELETE",
        f"{MAPS}/exists",
        query={"propagationPolicy": "Sideways"},
    ),
    Bad(
        "two propagations",
        "DELETE",
        f"{MAPS}/exists",
        options(orphanDependents=True, propagationPolicy="Orphan"),
    ),
    Bad("an unknown dry run", "DELETE", f"{MAPS}/exists", query={"dryRun": "Some"}),
    Bad(
        "deleting another uid", "DELETE", f"{MAPS}/exists", options(preconditions={"uid": "other"})
    ),
    Bad(
        "deleting another version",
        "DELETE",
        f"{WIDGETS}/exists",
        options(preconditions={"resourceVersion": "1"}),
    ),
    Bad("delete options that are no JSON", "DELETE", f"{MAPS}/exists", b"{"),
    # Scale and status.
    Bad("a negative scale", "PUT", f"{WIDGETS}/exists/scale", scale(replicas=-1)),
    Bad("a scale that is no number", "PUT", f"{WIDGETS}/exists/scale", scale(replicas="x")),
    Bad(
        "a status of the wrong type",
        "PATCH",
        f"{WIDGETS}/exists/status",
        {"status": {"replicas": "x"}},
        {},
        MERGE_PATCH,
    ),
    # CustomResourceDefinitions.
    Bad(
        "a definition whose name is not its resource's",
        "POST",
        DEFINITIONS,
        definition("a.example.com"),
    ),
    Bad(
        "a definition that stores no version",
        "POST",
        DEFINITIONS,
        definition(version={"storage": False}),
    ),
    Bad("a definition without a schema", "POST", DEFINITIONS, definition(version={"schema": None})),
    Bad("a definition without a scope", "POST", DEFINITIONS, definition(scope="")),
    Bad("a definition of an unknown scope", "POST", DEFINITIONS, definition(scope="Galaxy")),
    Bad(
        "a definition whose schema is not structural",
        "POST",
        DEFINITIONS,
        definition(version={"schema": LOOSE_SCHEMA}),
    ),
    Bad("a definition without versions", "POST", DEFINITIONS, definition(versions=[])),
    Bad(
        "a definition whose plural is no name",
        "POST",
        DEFINITIONS,
        definition(names={"plural": "Things", "kind": "Thing"}),
    ),
    Bad(
        "a definition whose kind is no name",
        "POST",
        DEFINITIONS,
        definition(names={"plural": "things", "kind": "a.b"}),
    ),
)
