"""Conversion between the stored version of an object and the other served ones."""

from webhook.dev.apiserver.builtin import encoding
from webhook.dev.apiserver.builtin.conversions import CONVERSIONS
from webhook.dev.apiserver.builtin.defaults.table import set_defaults
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import Entry, encode
from webhook.kube.meta import Draft


def to_version(resource: Resource, entry: Entry) -> Entry:
    """Return a stored object in a served version.

    Custom resources are pruned, not converted or defaulted: a version has those of the stored
    fields that its schema has.
    """
    if resource.stored is None:
        return entry
    obj = entry.decode()
    if resource.is_custom:
        resource.schema.prune(obj)
    else:
        obj = CONVERSIONS[resource.api_version, resource.kind].from_storage(obj)
    obj["apiVersion"] = resource.api_version
    return Entry(obj, encode(obj), entry.rv, entry.fields)


def decode_as(resource: Resource, entry: Entry) -> Draft:
    """Return a copy of a stored object in a served version."""
    obj = to_version(resource, entry).decode()
    obj["apiVersion"] = resource.api_version
    return obj


def to_storage(resource: Resource, obj: Draft) -> Draft:
    """Return the stored version of an object in a served one."""
    stored = resource.stored
    if stored is None:
        obj["apiVersion"] = resource.stored_api_version
        return obj
    if stored.builtin is not None:
        obj = CONVERSIONS[resource.api_version, resource.kind].to_storage(obj)
        set_defaults(stored.storage, obj)
        obj = encoding.encode(obj, stored.builtin.component)
    else:
        obj = dict(obj)
        prune_and_default(stored, obj)
    obj["apiVersion"] = stored.api_version
    return obj


def prune_and_default(stored: Resource, obj: Draft) -> None:
    """Prune and default a custom resource by the schema of its stored version."""
    stored.schema.prune(obj)
    stored.schema.apply_defaults(obj)
