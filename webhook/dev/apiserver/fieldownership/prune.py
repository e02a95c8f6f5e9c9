"""Remove the fields that a manager applied before and does not apply any more."""

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldsets
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.dev.apiserver.fieldownership.managers import ManagedFields, VersionedSet
from webhook.dev.apiserver.fieldownership.typedvalues import (
    ensure_named_fields,
    remove_fields,
    to_field_set,
)
from webhook.kube.meta import Draft


def prune(merged: Draft, managed: ManagedFields, last: VersionedSet, schema: Schema) -> Draft:
    """Remove fields that are in the last applied set of a manager and have no owner now.

    `managed` already holds the fields that the manager applies now. A list item or a map that
    would be removed with them stays if one of its fields has an owner.
    """
    last_fields = ensure_named_fields(last.fields, schema)
    owned: FieldSet = {}
    for manager in managed.managers.values():
        owned = fieldsets.union(owned, manager.fields)
    all_fields = _named_fields(merged, schema)
    rest = remove_fields(merged, last_fields, schema)
    keep = fieldsets.union(_named_fields(rest, schema), ensure_named_fields(owned, schema))
    rest = remove_fields(merged, fieldsets.difference(all_fields, keep), schema)
    removed = fieldsets.difference(all_fields, _named_fields(rest, schema))
    pruned: Draft = remove_fields(merged, fieldsets.intersection(removed, last_fields), schema)
    return pruned


def _named_fields(value: Draft, schema: Schema) -> FieldSet:
    return ensure_named_fields(to_field_set(value, schema), schema)


def remove_emptied(new: Draft, live: Draft) -> None:
    """Remove the nulls that pruning left in place of emptied values; nulls of clients stay."""
    for name, before in live.items():
        if name not in new:
            continue
        if new[name] is None and before is not None:
            del new[name]
        elif isinstance(before, dict) and isinstance(new[name], dict):
            remove_emptied(new[name], before)
