"""Create and update strategies: how resources are prepared and validated for a write."""

from typing import Any, Final

from webhook.dev.apiserver.builtin.validation.table import validate_builtin, validate_builtin_status
from webhook.dev.apiserver.cel import validationrules
from webhook.dev.apiserver.cel.validationrules import Warn, ignore_warning
from webhook.dev.apiserver.registry import conversion, objectmeta, scalepaths
from webhook.dev.apiserver.registry.resources import STATUS, Resource
from webhook.kube import fielderrors, schemachecks
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a deleted CustomResourceDefinition until its objects are gone."""
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_CREATED_BY_PUT: Final = frozenset(
    {
        "endpoints", "events", "limitranges", "services", "leases.coordination.k8s.io",
        "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    }
)  # fmt: skip
"""Resources that a PUT may create."""
_VERSIONED: Final = frozenset(
    {
        "leases.coordination.k8s.io", "poddisruptionbudgets.policy",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)  # fmt: skip
"""Resources whose PUT requires a resourceVersion."""


def allows_create_on_update(resource: Resource) -> bool:
    """Return whether a PUT may create an object."""
    return resource.storage in _CREATED_BY_PUT


def allows_unconditional_update(resource: Resource) -> bool:
    """Return whether a PUT may omit the resourceVersion."""
    return not resource.is_custom and resource.storage not in _VERSIONED


def has_spec_finalizers(resource: Resource, obj: Draft) -> bool:
    """Return whether an object has finalizers in its spec, as only Namespaces have."""
    return resource.storage == "namespaces" and bool((obj.get("spec") or {}).get("finalizers"))


def deletion_finalizers(resource: Resource, obj: Draft) -> list[str]:
    """Return the finalizers of a deleted object."""
    present = obj["metadata"].get("finalizers") or []
    if resource.storage != _DEFINITIONS or obj["metadata"].get("deletionTimestamp"):
        return present
    return present if CLEANUP in present else [*present, CLEANUP]


def prepare_create(resource: Resource, obj: Draft) -> None:
    """Drop the fields that a create cannot set, and set the first generation."""
    if resource.has_status:
        obj.pop("status", None)
    obj["metadata"].pop("generation", None)
    if resource.generation:
        obj["metadata"]["generation"] = 1


def prepare_update(resource: Resource, obj: Draft, old: Draft, subresource: str) -> None:
    """Restore the fields that the endpoint cannot change, and increment the generation."""
    if subresource == STATUS:
        _restore_all_but_status(obj, old)
        return
    if resource.has_status:
        _restore(obj, old, "status")
    if resource.generation and _desired_state(obj, resource) != _desired_state(old, resource):
        obj["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + 1


def _restore(obj: Draft, old: Draft, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def _restore_all_but_status(obj: Draft, old: Draft) -> None:
    """Restore everything from the stored object but status and managedFields."""
    metadata = dict(old["metadata"])
    if "managedFields" in obj["metadata"]:
        metadata["managedFields"] = obj["metadata"]["managedFields"]
    metadata["resourceVersion"] = obj["metadata"].get("resourceVersion", "")
    for name in [name for name in obj if name not in ("status", "metadata")]:
        del obj[name]
    obj.update({name: value for name, value in old.items() if name not in ("status", "metadata")})
    obj["metadata"] = metadata


def _desired_state(obj: Draft, resource: Resource) -> Draft:
    ignored = {"metadata", "apiVersion", "kind"}
    if not resource.is_custom:
        ignored.add("status")
    return {name: value for name, value in obj.items() if name not in ignored}


def validate_create(
    resource: Resource, obj: Draft, warn: Warn = ignore_warning
) -> list[FieldError]:
    """Validate a new object; `warn` receives warnings."""
    errors = objectmeta.validate(resource, obj["metadata"])
    if resource.is_custom:
        errors += resource.schema.validate(obj)
        errors += scalepaths.spec_errors(resource.scale, obj)
        errors += scalepaths.status_errors(resource.scale, obj)
        errors += embedded_errors(resource, obj)
        errors += resource.schema.validate_lists(obj)
        errors += validationrules.validate(resource, obj, None, errors, warn)
    else:
        errors += validate_builtin(resource.identity, _stored(resource, obj))
    return errors


def _stored(resource: Resource, obj: Draft) -> Draft:
    """Return the stored version of a built-in kind, which is the one that is validated."""
    return obj if resource.stored is None else conversion.to_storage(resource, obj)


def validate_update(
    resource: Resource, obj: Draft, old: Draft, subresource: str, warn: Warn = ignore_warning
) -> list[FieldError]:
    """Validate an update; errors that existed before become warnings."""
    errors = objectmeta.validate_stored(resource, obj["metadata"])
    errors += objectmeta.validate_update(obj["metadata"], old["metadata"])
    if not resource.is_custom:
        if subresource == STATUS:
            return errors + validate_builtin_status(resource.identity, _stored(resource, obj))
        if subresource:
            return errors
        before = _stored(resource, old)
        return errors + validate_builtin(resource.identity, _stored(resource, obj), before)
    # Kubernetes validates the metadata of custom resources twice.
    errors += objectmeta.validate_update(obj["metadata"], old["metadata"])
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
    errors += validationrules.validate(resource, obj, old, errors, warn)
    return errors


def embedded_errors(resource: Resource, obj: Draft) -> list[FieldError]:
    """Validate that embedded resources have apiVersion and kind."""
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


def warnings(resource: Resource, obj: Draft, old: Draft | None) -> list[str]:
    """Return the warnings about an object: finalizer names and unsupported rules."""
    texts = _finalizer_warnings(obj, old)
    if resource.storage == _DEFINITIONS and obj.get("spec") != (old or {}).get("spec"):
        texts += validationrules.unevaluated_rules(obj)
    return texts


def _finalizer_warnings(obj: Draft, old: Draft | None) -> list[str]:
    """Return warnings about new finalizers without a domain."""
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    path = "metadata.finalizers"
    found = []
    for finalizer in sorted(set(obj["metadata"].get("finalizers") or ()) - before):
        if "/" in finalizer or finalizer in objectmeta.STANDARD_FINALIZERS:
            continue
        including = " including a path (/)" if "." in finalizer else ""
        found.append(
            f'{path}: "{finalizer}": prefer a domain-qualified finalizer name{including} to avoid '
            "accidental conflicts with other finalizer writers"
        )
    return found
