"""Between the version that is stored and the one that a client speaks."""

from typing import Any

from webhook.apiserver.builtin import encoding
from webhook.apiserver.builtin.conversions import CONVERSIONS
from webhook.apiserver.builtin.defaults import table as defaults
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.entries import Entry, encode
from webhook.apiserver.resources import Resource

Object = dict[str, Any]


def shown(resource: Resource, entry: Entry) -> Entry:
    """Return what a version shows of a stored object.

    A custom resource is not converted: a version shows the fields that it knows, as they are
    stored, and fills in nothing.
    """
    if resource.stored is None:
        return entry
    obj = entry.decode()
    if resource.is_custom:
        resource.schema.prune(obj)
    else:
        obj = CONVERSIONS[resource.api_version, resource.kind].shown(obj)
    obj["apiVersion"] = resource.api_version
    return Entry(obj, encode(obj), entry.rv, entry.fields)


def decoded(resource: Resource, entry: Entry) -> Object:
    """Return a copy of a stored object in a version of it."""
    obj = shown(resource, entry).decode()
    obj["apiVersion"] = resource.api_version
    return obj


def to_store(resource: Resource, obj: Object) -> Object:
    """Return what is stored of an object in one of its versions."""
    stored = resource.stored
    if stored is None:
        obj["apiVersion"] = resource.stored_api_version
        return obj
    if stored.builtin is not None:
        obj = CONVERSIONS[resource.api_version, resource.kind].stored(obj)
        defaults.fill(stored.storage, obj)
        obj = encoding.encoded(obj, component(stored.builtin.model))
    else:
        obj = dict(obj)
        settle(stored, obj)
    obj["apiVersion"] = stored.api_version
    return obj


def settle(stored: Resource, obj: Object) -> None:
    """Give a stored custom resource the fields that its schema knows, and only those."""
    stored.schema.prune(obj)
    stored.schema.apply_defaults(obj)
