"""That a Gardener was seen here, kept where the next start finds it.

An APIService may be gone for a while, and a replica may start just then: it must not take the
landscape for one without a Gardener and do that one's work.
"""

from contextlib import suppress
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ForbiddenError, NotFoundError

REMEDY: Final = "if it left for good, run `espalier serve --standalone=true` once"

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
# Those of an installation, so that leaving finds it.
_LABELS: Final = {
    names.APP_NAME: names.FIELD_MANAGER,
    names.APP_PART_OF: names.FIELD_MANAGER,
    names.MANAGED_BY: names.FIELD_MANAGER,
}


async def is_kept(client: Client, namespace: str) -> bool:
    """Tell whether a Gardener was seen; who may not look in our own namespace kept nothing."""
    try:
        await client.get(_CONFIG_MAP, ObjectKey(namespace, names.GARDENER_SEEN))
    except (NotFoundError, ForbiddenError):
        return False
    return True


async def keep(client: Client, namespace: str) -> None:
    """Note that a Gardener was seen."""
    key = ObjectKey(namespace, names.GARDENER_SEEN)
    metadata = {"name": key.name, "namespace": key.namespace, "labels": _LABELS}
    with suppress(AlreadyExistsError):
        await client.create(_CONFIG_MAP, key, {"metadata": metadata, "data": {"forget": REMEDY}})


async def drop(client: Client, namespace: str) -> None:
    """Forget it: somebody says that there is none any more."""
    with suppress(NotFoundError):
        await client.delete(_CONFIG_MAP, ObjectKey(namespace, names.GARDENER_SEEN))
