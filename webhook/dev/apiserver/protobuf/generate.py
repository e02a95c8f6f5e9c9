"""Generate descriptors.json from the Go sources of a Kubernetes release.

Run it as `python -m webhook.dev.apiserver.protobuf.generate GOMODCACHE VERSION`.
"""

import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from webhook.dev.apiserver.builtin.kinds import (
    APIEXTENSIONS,
    APIREGISTRATION,
    BODY_MODELS,
    BUILTINS,
)

TARGET: Final = Path(__file__).with_name("descriptors.json")
_MODULES: Final = (
    "k8s.io/api",
    "k8s.io/apimachinery",
    "k8s.io/apiextensions-apiserver",
    "k8s.io/kube-aggregator",
)
_DEFINITIONS: Final = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
_META: Final = "k8s.io/apimachinery/pkg/apis/meta/v1"
SPECIAL: Final = {
    f"{_META}.Time": "time",
    f"{_META}.MicroTime": "microtime",
    f"{_META}.FieldsV1": "raw",
    f"{_META}.Duration": "duration",
    "k8s.io/apimachinery/pkg/runtime.RawExtension": "raw",
    "k8s.io/apimachinery/pkg/api/resource.Quantity": "quantity",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intorstring",
    f"{_DEFINITIONS}.JSON": "raw",
    f"{_DEFINITIONS}.JSONSchemaPropsOrBool": "schemaorbool",
    f"{_DEFINITIONS}.JSONSchemaPropsOrArray": "schemaorarray",
    f"{_DEFINITIONS}.JSONSchemaPropsOrStringArray": "schemaorstrings",
}
"""Types whose JSON is not an object of their fields."""
_SCALARS: Final = {
    "string": "string", "bool": "bool", "int32": "int", "int64": "int", "uint32": "int",
    "uint64": "int", "float64": "double", "[]byte": "bytes",
}  # fmt: skip
_GROUPS: Final = {"": "core", "rbac.authorization.k8s.io": "rbac"}
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.S | re.M)
_EMPTY: Final = re.compile(r"^type (\w+) struct ?\{\}$", re.M)
_ALIAS: Final = re.compile(r"^type (\w+) ([\w.\[\]*]+)$", re.M)
_IMPORT: Final = re.compile(r'^\s*(?:(\w+) )?"(k8s\.io/[^"]+)"', re.M)
_FIELD: Final = re.compile(
    r"^\s+(?:(?P<name>\w+) +)?(?P<type>[\w.\[\]*]+) +`(?P<tags>[^`]*protobuf:[^`]*)`", re.M
)
_TAG: Final = re.compile(r'(\w+):"([^"]*)"')


class Source(NamedTuple):
    """The Go files of a package: structs, type aliases and import aliases."""

    path: str
    structs: dict[str, str]
    aliases: dict[str, str]
    imports: dict[str, str]


class Generator:
    """Collects the types of Go packages, and reads each package when it is first needed."""

    def __init__(self, modules: Path, version: str) -> None:
        self._modules = modules
        self._version = version
        self._sources: dict[str, Source] = {}
        self.types: dict[str, list[list[Any]]] = {}

    def add(self, package: str, name: str) -> str:
        """Add a struct and the types of its fields; return its name."""
        key = f"{package}.{name}"
        if key not in self.types and key not in SPECIAL:
            source = self._source(package)
            self.types[key] = []
            body = source.structs[name]
            self.types[key] = [
                row for found in _FIELD.finditer(body) if (row := self._field(source, found))
            ]
        return key

    def _field(self, source: Source, found: re.Match[str]) -> list[Any] | None:
        tags = dict(_TAG.findall(found["tags"]))
        if found[0].lstrip().startswith("//"):
            return None
        number = int(tags["protobuf"].split(",")[1])
        json_name, *options = tags.get("json", "").split(",")
        declared = found["type"]
        pointer = declared.startswith("*")
        where, spelled = self._resolve_alias(source, declared.lstrip("*"))
        container, inner = _split_container(spelled)
        where, inner = self._resolve_alias(where, inner)
        if inner.startswith("[]") and inner != "[]byte":
            # A map of lists is encoded as a map of messages that hold the items.
            container, inner = "extra", inner.removeprefix("[]")
        kind, reference = self._type(where, inner)
        keep = pointer or ("omitempty" not in options and kind != "message")
        if "inline" in options:
            return [number, "", kind, reference, "inline", False]
        return [number, json_name, kind, reference, container, keep]

    def _type(self, source: Source, declared: str) -> tuple[str, str]:
        declared = declared.lstrip("*")
        if declared in _SCALARS:
            return _SCALARS[declared], ""
        if "." in declared:
            alias, _, name = declared.partition(".")
            source = self._source(source.imports[alias])
            declared = name
        key = f"{source.path}.{declared}"
        if key in SPECIAL:
            return SPECIAL[key], ""
        if declared in source.structs:
            return "message", self.add(source.path, declared)
        return self._type(source, source.aliases[declared])

    def _resolve_alias(self, source: Source, declared: str) -> tuple[Source, str]:
        """Resolve the alias of a slice or map."""
        alias, dot, name = declared.rpartition(".")
        if dot and alias in source.imports and not declared.startswith(("map", "[")):
            home = self._source(source.imports[alias])
        else:
            home, name = source, declared
        target = home.aliases.get(name, "")
        return (home, target) if target.startswith(("map", "[")) else (source, declared)

    def _source(self, package: str) -> Source:
        if package not in self._sources:
            module = next(name for name in _MODULES if package.startswith(f"{name}/"))
            folder = (
                self._modules / f"{module}@{self._version}" / package.removeprefix(f"{module}/")
            )
            text = "\n".join(
                path.read_text()
                for path in sorted(folder.glob("*.go"))
                if not path.name.startswith(("zz_", "generated")) and "_test" not in path.name
            )
            imports = {
                alias or path.rpartition("/")[2]: path for alias, path in _IMPORT.findall(text)
            }
            # By convention a Go package is called v1 and imported under the name of its group.
            self._sources[package] = Source(
                package,
                {**dict(_STRUCT.findall(text)), **dict.fromkeys(_EMPTY.findall(text), "")},
                dict(_ALIAS.findall(text)),
                imports,
            )
        return self._sources[package]


def _split_container(declared: str) -> tuple[str, str]:
    if declared.startswith("map[string]"):
        return "map", declared.removeprefix("map[string]")
    if declared.startswith("map["):
        return "map", declared.partition("]")[2]
    if declared.startswith("[]") and declared != "[]byte":
        return "list", declared.removeprefix("[]")
    return "", declared


def package_of(group: str, version: str) -> str:
    """Return the Go package of a group version."""
    if (group, version) == APIEXTENSIONS:
        return _DEFINITIONS
    if (group, version) == APIREGISTRATION:
        return "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
    return f"k8s.io/api/{_GROUPS.get(group, group.partition('.')[0])}/{version}"


def document(modules: Path, version: str) -> dict[str, Any]:
    """Return the descriptors of the kinds that clients may send."""
    generator = Generator(modules, version)
    kinds = {}
    for row in BUILTINS:
        package = package_of(row.group, row.version)
        kinds[f"{row.group_version}/{row.kind}"] = generator.add(package, row.kind)
        for part in row.subresources:
            if part.kind and part.group_version is not None:
                package = package_of(*part.group_version)
                kinds[f"{part.group_version}/{part.kind}"] = generator.add(package, part.kind)
    for kind in BODY_MODELS:
        if kind == "DeleteOptions":
            kinds[f"meta.k8s.io/v1/{kind}"] = kinds[f"v1/{kind}"] = generator.add(_META, kind)
    return {"kinds": kinds, "types": generator.types}


def main() -> None:
    """Write the file."""
    table = document(Path(sys.argv[1]), sys.argv[2])
    TARGET.write_bytes(orjson.dumps(table) + b"\n")


if __name__ == "__main__":
    main()
