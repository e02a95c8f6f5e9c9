"""The two fields that a served Tortoise definition lacks, as a patch to it."""

from typing import Final

from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Raw
from webhook.api.openapi import schema_of
from webhook.api.patches import Operation, pointer
from webhook.api.scaling import Tortoise

_KIND: Final = kind_of_model(Tortoise)
_ADDED: Final = (("spec", "recommenders"), ("status", "recommendations", "constraints"))


class NoSuchVersionError(Exception):
    """Raised when the served definition has no version that we know."""


def addition(definition: Raw | None) -> list[Operation]:
    """List the operations that add the fields, for `kubectl patch crd --type=json`.

    Without the served definition the version is taken to be the first one; the patch tests that,
    so that it changes nothing where this is wrong.
    """
    index = 0 if definition is None else _find_version(definition)
    base = ("spec", "versions", index)
    operations: list[Operation] = [
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
