"""How kinds differ when they are written: status, generation, and what makes an object valid."""

from typing import Any, Final

from webhook.api import fielderrors, schemachecks
from webhook.api.fielderrors import FieldError
from webhook.apiserver import conversion, meta, scalepaths
from webhook.apiserver.builtin.validation import table as judges
from webhook.apiserver.cel import rules
from webhook.apiserver.cel.rules import Warn, ignore
from webhook.apiserver.resources import STATUS, Resource

Object = dict[str, Any]
#: What a definition waits for when it is deleted: that its objects are gone.
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def outlives(resource: Resource, obj: Object) -> bool:
    """Whether an object has to stay without finalizers in its metadata: a namespace has its own."""
    return resource.storage == "namespaces" and bool((obj.get("spec") or {}).get("finalizers"))


def last_duties(resource: Resource, obj: Object) -> list[str]:
    """Return the finalizers that an object gets when it is deleted."""
    present = obj["metadata"].get("finalizers") or []
    if resource.storage != _DEFINITIONS or obj["metadata"].get("deletionTimestamp"):
        return present
    return present if CLEANUP in present else [*present, CLEANUP]


def prepare_create(resource: Resource, obj: Object) -> None:
    """Drop what a create cannot set, and start counting generations."""
    if resource.has_status:
        obj.pop("status", None)
    obj["metadata"].pop("generation", None)
    if resource.generation:
        obj["metadata"]["generation"] = 1


def prepare_update(resource: Resource, obj: Object, old: Object, subresource: str) -> None:
    """Keep what the endpoint cannot change, and count a change of the desired state."""
    if subresource == STATUS:
        _keep_all_but_status(obj, old)
        return
    if resource.has_status:
        _keep(obj, old, "status")
    if resource.generation and _desired(obj, resource) != _desired(old, resource):
        obj["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + 1


def _keep(obj: Object, old: Object, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def _keep_all_but_status(obj: Object, old: Object) -> None:
    """Take everything from the stored object, but status and, of metadata, managed fields."""
    metadata = dict(old["metadata"])
    if "managedFields" in obj["metadata"]:
        metadata["managedFields"] = obj["metadata"]["managedFields"]
    metadata["resourceVersion"] = obj["metadata"].get("resourceVersion", "")
    for name in [name for name in obj if name not in ("status", "metadata")]:
        del obj[name]
    obj.update({name: value for name, value in old.items() if name not in ("status", "metadata")})
    obj["metadata"] = metadata


def _desired(obj: Object, resource: Resource) -> Object:
    ignored = {"metadata", "apiVersion", "kind"}
    if not resource.is_custom:
        ignored.add("status")
    return {name: value for name, value in obj.items() if name not in ignored}


def validate_create(resource: Resource, obj: Object, warn: Warn = ignore) -> list[FieldError]:
    """Return every objection to a new object; what is merely unwise is a warning."""
    errors = meta.validate(resource, obj["metadata"])
    if resource.is_custom:
        errors += resource.schema.validate(obj)
        errors += scalepaths.spec_errors(resource.scale, obj)
        errors += scalepaths.status_errors(resource.scale, obj)
        errors += embedded_errors(resource, obj)
        errors += resource.schema.validate_lists(obj)
        errors += rules.objections(resource, obj, None, errors, warn)
    else:
        errors += judges.objections(resource.identity, _stored(resource, obj))
    return errors


def _stored(resource: Resource, obj: Object) -> Object:
    """Return the shape in which a built-in kind is judged: the one that is stored."""
    return obj if resource.stored is None else conversion.to_store(resource, obj)


def validate_update(
    resource: Resource, obj: Object, old: Object, subresource: str, warn: Warn = ignore
) -> list[FieldError]:
    """Return every objection to a change; what was so before is a warning."""
    errors = meta.validate_stored(resource, obj["metadata"])
    errors += meta.validate_update(obj["metadata"], old["metadata"])
    if not resource.is_custom:
        if subresource:
            return errors
        before = _stored(resource, old)
        return errors + judges.objections(resource.identity, _stored(resource, obj), before)
    # A real server checks metadata twice, once for all kinds and once for this one.
    errors += meta.validate_update(obj["metadata"], old["metadata"])
    if subresource == STATUS:
        schema = resource.schema.properties.get(STATUS)
        if schema is not None and STATUS in obj:
            before = old.get(STATUS, schemachecks.ABSENT)
            errors += schema.validate(obj[STATUS], before, prefix=STATUS)
    else:
        errors += resource.schema.validate(obj, old)
        errors += scalepaths.spec_errors(resource.scale, obj)
    errors += scalepaths.status_errors(resource.scale, obj)
    errors += embedded_errors(resource, obj)
    errors += resource.schema.validate_lists(obj, old)
    errors += rules.objections(resource, obj, old, errors, warn)
    return errors


def embedded_errors(resource: Resource, obj: Object) -> list[FieldError]:
    """Object to embedded objects without kind and apiVersion."""
    return _embedded(resource.schema, obj, "") if resource.has_embedded else []


def _embedded(schema: Any, value: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema is None:
        return errors
    if isinstance(value, dict):
        if schema.embedded:
            errors += [
                fielderrors.required(fielderrors.child(path, name))
                for name in ("apiVersion", "kind")
                if name not in value
            ]
        for name, found in value.items():
            if isinstance(found, dict | list):
                errors += _embedded(schema.child(name), found, fielderrors.child(path, name))
    elif isinstance(value, list):
        for index, found in enumerate(value):
            errors += _embedded(schema.items, found, f"{path}[{index}]")
    return errors


def warnings(resource: Resource, obj: Object, old: Object | None) -> list[str]:
    """Tell of what an object says that is unwise, or that is not heard here."""
    told = _finalizer_warnings(obj, old)
    if resource.storage == _DEFINITIONS and obj.get("spec") != (old or {}).get("spec"):
        told += rules.unheard(obj)
    return told


def _finalizer_warnings(obj: Object, old: Object | None) -> list[str]:
    """Tell of new finalizers that do not name who they belong to."""
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    path = "metadata.finalizers"
    found = []
    for finalizer in sorted(set(obj["metadata"].get("finalizers") or ()) - before):
        if "/" in finalizer or finalizer in _STANDARD_FINALIZERS:
            continue
        including = " including a path (/)" if "." in finalizer else ""
        found.append(
            f'{path}: "{finalizer}": prefer a domain-qualified finalizer name{including} to avoid '
            "accidental conflicts with other finalizer writers"
        )
    return found
