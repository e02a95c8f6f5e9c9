"""The ConfigMaps with the records of worker pools, as a kind of their own for the cache."""

from dataclasses import replace
from typing import Final

from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model


class PoolRecordObject(ConfigMap):
    """A ConfigMap with the record of a pool.

    A separate Struct, so that the cache stores these apart from other ConfigMaps, which are
    watched by other labels in other namespaces.
    """


POOL_RECORD: Final[Kind] = replace(kind_of_model(ConfigMap), model=PoolRecordObject)
"""The kind of pool records; not in KINDS, because to the API server they are ConfigMaps."""
