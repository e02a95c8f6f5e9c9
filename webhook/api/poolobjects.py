"""The ConfigMaps that hold the records of worker pools, as a kind of their own to watch."""

from dataclasses import replace
from typing import Final

from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model


class PoolObject(ConfigMap):
    """A ConfigMap with the record of a pool.

    A Struct of its own, so that memory keeps these few apart from other ConfigMaps, which are
    watched by other labels in other namespaces.
    """


POOL_OBJECT: Final[Kind] = replace(kind_of_model(ConfigMap), model=PoolObject)
"""How they are read and written; not in KINDS, for the API server knows only ConfigMaps."""
