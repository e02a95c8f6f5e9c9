"""The JSON patch that adds the fields of scheduled scaling to Tortoise's CRD."""

from typing import Final

from webhook.api.kinds import kind_of_model
from webhook.api.openapi import schema_of
from webhook.api.scaling import Tortoise
from webhook.kube.meta import Draft, Raw
from webhook.kube.patches import PatchOperation, pointer

_KIND: Final = kind_of_model(Tortoise)
_ADDED: Final = (("spec", "recommenders"), ("status", "recommendations", "constraints"))


class NoSuchVersionError(Exception):
    """The served definition has no version that Espalier supports."""


def crd_patch(definition: Raw | None) -> list[PatchOperation]:
    """Return the operations that add the fields, for `kubectl patch crd --type=json`.

    Without the served definition, the patch assumes that the version is the first one, and tests
    that: where it is not, the API server rejects the patch.
    """
    index = 0 if definition is None else _find_version(definition)
    base = ("spec", "versions", index)
    operations: list[PatchOperation] = [
        {"op": "test", "path": pointer(*base, "name"), "value": _KIND.version}
    ]
    for path in _ADDED:
        steps = [step for name in path for step in ("properties", name)]
        operations.append(
            {
                "op": "add",
                "path": pointer(*base, "schema", "openAPIV3Schema", *steps),
                "value": _find_schema(path),
            }
        )
    return operations


def _find_version(definition: Raw) -> int:
    versions = [version["name"] for version in definition["spec"]["versions"]]
    if _KIND.version not in versions:
        listed = ", ".join(versions)
        raise NoSuchVersionError(
            f"the served definition of {_KIND.resource} has {listed} and not {_KIND.version}"
        )
    return versions.index(_KIND.version)


def _find_schema(path: tuple[str, ...]) -> Draft:
    schema = schema_of(_KIND)
    for step in path:
        schema = schema["properties"][step]
    return schema
