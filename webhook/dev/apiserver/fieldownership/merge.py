"""Merge an applied configuration into a live object."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldschemas
from webhook.dev.apiserver.fieldownership.fieldschemas import DEDUCED
from webhook.dev.apiserver.fieldownership.typedvalues import MISSING
from webhook.kube.meta import Draft


def merge(live: Any, config: Any, schema: Schema) -> Any:
    """Merge a configuration into a live value: objects by field, lists by item, others whole."""
    result = _merge(live, config, schema)
    return {} if result is MISSING else result


def _merge(live: Any, config: Any, schema: Schema) -> Any:
    if config is MISSING:
        return live
    if live is MISSING:
        return config
    if isinstance(live, dict) and live and isinstance(config, dict | None):
        if fieldschemas.is_atomic_map(schema):
            return config
        return _merge_fields(live, config or {}, schema)
    if isinstance(live, list) and live and isinstance(config, list | None):
        if fieldschemas.is_atomic_list(schema):
            return config
        return _merge_items(live, config or [], schema)
    return config


def _merge_fields(live: Draft, config: Draft, schema: Schema) -> Draft:
    fields = fieldschemas.fields(schema)
    result = {}
    for name in [*live, *(name for name in config if name not in live)]:
        inner = fields.of(name) or DEDUCED
        result[name] = _merge(live.get(name, MISSING), config.get(name, MISSING), inner)
    return result


def _merge_items(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    """Merge two lists; shared items take the configuration's order, live items stay in between."""
    inner = fieldschemas.items(schema)
    configured = {fieldschemas.path_element(schema, item): item for item in config}
    live_by_element: dict[str, Any] = {}
    live_items = []
    for item in live:
        element = fieldschemas.path_element(schema, item)
        # Live items that share their keys are ambiguous, so they are replaced and not merged.
        live_by_element[element] = MISSING if element in live_by_element else item
        live_items.append((element, item))
    result = []
    for element, item in _interleave(live_items, list(configured)):
        live_item = item if element not in configured else live_by_element.get(element, MISSING)
        result.append(_merge(live_item, configured.get(element, MISSING), inner))
    return result


def _interleave(live_items: list[tuple[str, Any]], order: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the elements of the merged list, with the item of those that only the live list has."""
    shared = deque(element for element in order if element in {name for name, _ in live_items})
    configured, yielded = set(order), set[str]()
    left = right = 0
    while left < len(live_items) or right < len(order):
        if left < len(live_items):
            element, item = live_items[left]
            if element not in configured:
                yield element, item
                left += 1
                continue
            if element in yielded:
                left += 1
            elif shared and shared[0] != element:
                left += 1
                continue
        if right < len(order):
            element = order[right]
            yield element, None
            right += 1
            yielded.add(element)
            if shared and shared[0] == element:
                shared.popleft()
