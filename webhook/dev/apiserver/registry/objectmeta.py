"""ObjectMeta: the fields that the server sets, and their validation."""

import secrets
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from webhook.dev.apiserver.endpoints.calls import field_manager_errors
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube import fielderrors, identifiers, status
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft, Raw

NameCheck: TypeAlias = Callable[[str], list[str]]
"""Returns what is wrong with a name."""

IMMUTABLE: Final = "field is immutable"
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, "kubernetes"})
"""The finalizers without a domain that Kubernetes itself uses."""
ANNOTATIONS_LIMIT: Final = 256 * 1024
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of generated suffixes: no vowels, nothing ambiguous."""
_SUFFIX_LENGTH: Final = 5
_GENERATED_LIMIT: Final = 63
_IMMUTABLE_FIELDS: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip
_GROUPS_WITH_PLAIN_FINALIZERS: Final = frozenset(
    {
        *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"),
        *("coordination.k8s.io", "policy"),
    }
)
"""Groups of built-in kinds whose finalizers need no domain."""
_NAME_CHECKS: Final[dict[str, NameCheck]] = {
    "namespaces": identifiers.dns1123_label_errors,
    "services": identifiers.dns1123_label_errors,
    "clusterroles.rbac.authorization.k8s.io": identifiers.path_segment_errors,
    "clusterrolebindings.rbac.authorization.k8s.io": identifiers.path_segment_errors,
    "roles.rbac.authorization.k8s.io": identifiers.path_segment_errors,
    "rolebindings.rbac.authorization.k8s.io": identifiers.path_segment_errors,
}


def timestamp(now: datetime) -> str:
    """Format a time as metav1.Time does."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def fill_system_fields(obj: Draft, now: datetime) -> None:
    """Set the system fields of a new object, whatever the client sent."""
    metadata = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        metadata.pop(name, None)
    metadata["creationTimestamp"] = timestamp(now)
    metadata["uid"] = str(uuid.uuid4())
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(metadata["generateName"])


def generate_name(base: str) -> str:
    """Append a random suffix to generateName as Kubernetes does."""
    suffix = "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))
    return base[: _GENERATED_LIMIT - _SUFFIX_LENGTH] + suffix


def ensure_namespace(obj: Draft, namespace: str) -> None:
    """Default the namespace from the request; raise a 400 if they differ."""
    metadata = obj["metadata"]
    own = metadata.get("namespace") or ""
    if own == namespace:
        return
    if not namespace:
        metadata.pop("namespace", None)
    elif not own:
        metadata["namespace"] = namespace
    else:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def validate(resource: Resource, metadata: Raw) -> list[FieldError]:
    """Validate the metadata of a new object."""
    check = _NAME_CHECKS.get(resource.storage, identifiers.subdomain_errors)
    errors: list[FieldError] = []
    base = metadata.get("generateName") or ""
    if base:
        # A trailing dash is allowed, since a suffix follows.
        masked = base[:-2] + "a" if len(base) > 1 and base.endswith("-") else base
        errors += [
            fielderrors.invalid("metadata.generateName", base, text) for text in check(masked)
        ]
    name = metadata.get("name") or ""
    if not name:
        errors.append(fielderrors.required("metadata.name", "name or generateName is required"))
    else:
        errors += [fielderrors.invalid("metadata.name", name, text) for text in check(name)]
    return errors + validate_common(resource, metadata)


def validate_stored(resource: Resource, metadata: Raw) -> list[FieldError]:
    """Validate the metadata of an existing object, whose name was validated on create."""
    name = metadata.get("name") or ""
    errors = [
        fielderrors.invalid("metadata.name", name, text)
        for text in identifiers.path_segment_errors(name)
    ]
    return errors + validate_common(resource, metadata)


def validate_common(resource: Resource, metadata: Raw) -> list[FieldError]:
    """Validate the metadata that creates and updates have in common."""
    errors: list[FieldError] = []
    namespace = metadata.get("namespace") or ""
    if resource.namespaced:
        if not namespace:
            errors.append(fielderrors.required("metadata.namespace"))
        errors += [
            fielderrors.invalid("metadata.namespace", namespace, text)
            for text in (identifiers.dns1123_label_errors(namespace) if namespace else ())
        ]
    elif namespace:
        errors.append(fielderrors.forbidden("metadata.namespace", "not allowed on this type"))
    errors += label_errors(metadata.get("labels") or {}, "metadata.labels")
    errors += _annotation_errors(metadata.get("annotations") or {})
    errors += _owner_errors(metadata.get("ownerReferences") or [])
    errors += _finalizer_errors(metadata.get("finalizers") or [])
    if not resource.is_custom and resource.group not in _GROUPS_WITH_PLAIN_FINALIZERS:
        errors += qualified_finalizer_errors(metadata.get("finalizers") or [])
    errors += _managed_fields_errors(metadata.get("managedFields") or [])
    return errors


def label_errors(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Validate label keys and values."""
    errors = []
    for key, value in labels.items():
        errors += [
            fielderrors.invalid(path, key, text) for text in identifiers.label_key_errors(key)
        ]
        errors += [
            fielderrors.invalid(path, value, text) for text in identifiers.label_value_errors(value)
        ]
    return errors


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    path = "metadata.annotations"
    errors = [
        fielderrors.invalid(path, key, text)
        for key in annotations
        for text in identifiers.label_key_errors(key.lower())
    ]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        errors.append(fielderrors.too_long(path, ANNOTATIONS_LIMIT))
    return errors


def _owner_errors(references: list[Raw]) -> list[FieldError]:
    path = "metadata.ownerReferences"
    errors = []
    controller = ""
    for reference in references:
        version = str(reference.get("apiVersion", ""))
        if not version.rpartition("/")[2]:
            errors.append(
                fielderrors.invalid(f"{path}.apiVersion", version, "version must not be empty")
            )
        errors += [
            fielderrors.invalid(f"{path}.{name}", "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not reference.get(name)
        ]
        if version == "v1" and reference.get("kind") == "Event":
            detail = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(fielderrors.invalid(path, reference, detail))
        if reference.get("controller"):
            current = f"{reference.get('kind')}/{reference.get('name')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {controller} and {current}'
                )
                errors.append(fielderrors.invalid(path, references, detail))
            else:
                controller = current
    return errors


def _finalizer_errors(finalizers: list[str]) -> list[FieldError]:
    path = "metadata.finalizers"
    errors = [
        fielderrors.invalid(path, finalizer, text)
        for finalizer in finalizers
        for text in identifiers.label_key_errors(finalizer)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(fielderrors.invalid(path, finalizers, detail))
    return errors


def qualified_finalizer_errors(finalizers: list[str]) -> list[FieldError]:
    """Validate that finalizers have a domain, but for those of Kubernetes itself."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        fielderrors.invalid(f"metadata.finalizers[{index}]", finalizer, detail)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def _managed_fields_errors(entries: list[Raw]) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            detail = "must be `Apply` or `Update`"
            errors.append(fielderrors.invalid(f"{path}.operation", operation, detail))
        kind = entry.get("fieldsType", "")
        if kind not in ("", "FieldsV1"):
            errors.append(fielderrors.invalid(f"{path}.fieldsType", kind, "must be `FieldsV1`"))
        errors += field_manager_errors(str(entry.get("manager", "")), f"{path}.manager")
    return errors


def validate_update(metadata: Raw, old: Raw) -> list[FieldError]:
    """Validate changes of metadata; most system fields are immutable."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(metadata.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            errors.append(fielderrors.forbidden("metadata.finalizers", detail))
    errors += [
        fielderrors.invalid(f"metadata.{name}", metadata.get(name), IMMUTABLE)
        for name in _IMMUTABLE_FIELDS
        if metadata.get(name) != old.get(name)
    ]
    errors += label_errors(metadata.get("labels") or {}, "metadata.labels")
    errors += _annotation_errors(metadata.get("annotations") or {})
    errors += _owner_errors(metadata.get("ownerReferences") or [])
    return errors + _managed_fields_errors(metadata.get("managedFields") or [])


def keep_system_fields(obj: Draft, old: Draft) -> None:
    """Copy the system fields that an update may omit or cannot change."""
    metadata, before = obj["metadata"], old["metadata"]
    if not metadata.get("uid"):
        metadata["uid"] = before.get("uid")
    for name in ("creationTimestamp", "deletionTimestamp", "generation"):
        if name in before:
            metadata[name] = before[name]
        elif name == "generation":
            metadata.pop(name, None)
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
