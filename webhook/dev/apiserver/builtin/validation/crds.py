"""Validation of CustomResourceDefinitions: names, versions, schemas and updates."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import conversions, schemaprops, structural
from webhook.dev.apiserver.builtin.validation.checks import IMMUTABLE, Errors
from webhook.dev.apiserver.cel import definitionrules
from webhook.kube import fielderrors, gotext, identifiers
from webhook.kube.meta import Raw

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_MIXED_CASE: Final = "may have mixed case, but should otherwise match: "
_SCALE_ROOTS: Final = {
    "specReplicasPath": ((".spec.",), ".spec"),
    "statusReplicasPath": ((".status.",), ".status"),
    "labelSelectorPath": ((".spec.", ".status."), "either .spec or .status"),
}


def validate_crd(crd: Raw) -> Errors:
    """Validate a CustomResourceDefinition."""
    yield from _name_errors(crd)
    yield from _spec_errors(crd["spec"])
    yield from _stored_errors(crd)


def _name_errors(crd: Raw) -> Errors:
    name, spec = crd["metadata"].get("name") or "", crd["spec"]
    if name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        detail = 'must be spec.names.plural+"."+spec.group'
        yield fielderrors.invalid("metadata.name", name, detail)


def _spec_errors(spec: Raw) -> Errors:
    group = spec.get("group") or ""
    if not group:
        yield fielderrors.required("spec.group")
    elif found := identifiers.subdomain_errors(group):
        yield fielderrors.invalid("spec.group", group, ",".join(found))
    elif "." not in group:
        detail = "should be a domain with at least one dot"
        yield fielderrors.invalid("spec.group", group, detail)
    scope = spec.get("scope") or ""
    if not scope:
        yield fielderrors.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield fielderrors.not_supported("spec.scope", scope, ["Cluster", "Namespaced"])
    versions = spec.get("versions") or []
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield fielderrors.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    yield from _versions_errors(versions)
    yield from _names_errors(spec["names"])
    if spec.get("conversion") is not None:
        yield from conversions.validate_conversion(spec["conversion"])
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield fielderrors.invalid("spec.preserveUnknownFields", True, detail)


def _versions_errors(versions: list[Raw]) -> Errors:
    # Kubernetes hoists a schema that all versions share to spec.validation and reports it there.
    shared = all(version.get("schema") == versions[0].get("schema") for version in versions)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        name = version.get("name") or ""
        if found := identifiers.dns1035_label_errors(name):
            yield fielderrors.invalid(f"{path}.name", name, ",".join(found))
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema and not (shared and index):
            where = "spec.validation" if shared else f"{path}.schema"
            yield from _schema_errors(schema, f"{where}.openAPIV3Schema")
        yield from _scale_errors(version, path)
        yield from _column_errors(version, path)
    names = [version.get("name") for version in versions]
    if len(set(names)) != len(names):
        detail = "must contain unique version names"
        yield fielderrors.invalid("spec.versions", _internal_versions(versions), detail)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield fielderrors.invalid("spec.versions", _internal_versions(versions), detail)


def _schema_errors(schema: Raw, path: str) -> Errors:
    """Validate a schema in the steps of Kubernetes; rules only if everything else is valid."""
    found = structural.validate_structural(schema, path)
    if not found:
        found = [*schemaprops.validate_defaults(schema, path)]
    found += schemaprops.validate_keywords(schema, path)
    yield from found or definitionrules.validate_rules(schema, path)


def _internal_versions(versions: list[Raw]) -> list[gotext.Struct]:
    """Return versions in the internal Go form that kube-apiserver prints."""
    return [
        gotext.Struct(
            {
                "Name": version.get("name"),
                "Served": bool(version.get("served")),
                "Storage": bool(version.get("storage")),
                "Deprecated": bool(version.get("deprecated")),
                "DeprecationWarning": version.get("deprecationWarning"),
                "Schema": None,
                "Subresources": None,
                "AdditionalPrinterColumns": None,
                "SelectableFields": None,
            }
        )
        for version in versions
    ]


def _scale_errors(version: Raw, path: str) -> Errors:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for name, (roots, root_text) in _SCALE_ROOTS.items():
        where, value = f"{path}.subresources.scale.{name}", scale.get(name) or ""
        if not value:
            if name != "labelSelectorPath":
                yield fielderrors.required(where)
        elif not value.startswith("."):
            detail = "must be a simple json path starting with ."
            yield fielderrors.invalid(where, value, detail)
        elif not value.startswith(roots):
            yield fielderrors.invalid(where, value, f"should be a json path under {root_text}")


def _column_errors(version: Raw, path: str) -> Errors:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        where = f"{path}.additionalPrinterColumns[{index}]"
        kind, choices = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column.get("name"):
            yield fielderrors.required(f"{where}.name")
        if not kind:
            yield fielderrors.required(f"{where}.type", choices)
        elif kind not in _COLUMN_TYPES:
            yield fielderrors.invalid(f"{where}.type", kind, choices)
        json_path = column.get("jsonPath") or ""
        if not json_path:
            yield fielderrors.required(f"{where}.JSONPath")
        elif not json_path.startswith("."):
            detail = "must be a simple json path starting with ."
            yield fielderrors.invalid(f"{where}.JSONPath", json_path, detail)


def _names_errors(names: Raw) -> Errors:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield fielderrors.required(f"spec.names.{name}")
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name) or ""
        prefix = _MIXED_CASE if name in ("kind", "listKind") else ""
        checked = value.lower() if prefix else value
        if value and (found := identifiers.dns1035_label_errors(checked)):
            yield fielderrors.invalid(f"spec.names.{name}", value, prefix + ",".join(found))
    for list_name in ("shortNames", "categories"):
        for index, value in enumerate(names.get(list_name) or ()):
            if found := identifiers.dns1035_label_errors(value):
                yield fielderrors.invalid(
                    f"spec.names.{list_name}[{index}]", value, ",".join(found)
                )
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        yield fielderrors.invalid("spec.names.listKind", names["listKind"], detail)


def _stored_errors(crd: Raw) -> Errors:
    path = "status.storedVersions"
    stored = (crd.get("status") or {}).get("storedVersions") or None
    if not stored:
        yield fielderrors.invalid(path, None, "must have at least one stored version")
        return
    names = [version.get("name") for version in crd["spec"].get("versions") or ()]
    for index, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield fielderrors.invalid(f"{path}[{index}]", name, detail)


def validate_crd_update(crd: Raw, old: Raw) -> Errors:
    """Validate an update; once the definition is established, scope and kind are immutable."""
    spec, before = crd["spec"], old["spec"]
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        if spec.get("scope") != before.get("scope"):
            yield fielderrors.invalid("spec.scope", spec.get("scope"), IMMUTABLE)
        if spec["names"].get("kind") != before["names"].get("kind"):
            yield fielderrors.invalid("spec.names.kind", spec["names"].get("kind"), IMMUTABLE)
    if spec.get("group") != before.get("group"):
        yield fielderrors.invalid("spec.group", spec.get("group"), IMMUTABLE)
    if spec["names"].get("plural") != before["names"].get("plural"):
        yield fielderrors.invalid("spec.names.plural", spec["names"].get("plural"), IMMUTABLE)
