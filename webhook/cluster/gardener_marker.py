"""A ConfigMap that records that a Gardener was seen in this cluster.

An APIService may be missing for a while. A replica that starts at that moment must not conclude
that there is no Gardener and take over its work.
"""

from contextlib import suppress
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from webhook.kube.meta import ObjectKey

REMEDY: Final = "if it left for good, run `espalier serve --standalone=true` once"

_CONFIG_MAP: Final = kind_of_model(ConfigMap)
# The labels of an installation, so that uninstalling finds the marker.
_LABELS: Final = {
    names.APP_NAME: names.FIELD_MANAGER,
    names.APP_PART_OF: names.FIELD_MANAGER,
    names.MANAGED_BY: names.FIELD_MANAGER,
}


async def marker_exists(client: Client, namespace: str) -> bool:
    """Return whether the marker exists; without the permission to read it there is none."""
    try:
        await client.get(_CONFIG_MAP, ObjectKey(namespace, names.GARDENER_SEEN))
    except (NotFoundError, ForbiddenError):
        return False
    return True


async def write_marker(client: Client, namespace: str) -> None:
    """Record that a Gardener was seen."""
    key = ObjectKey(namespace, names.GARDENER_SEEN)
    metadata = {"name": key.name, "namespace": key.namespace, "labels": _LABELS}
    with suppress(AlreadyExistsError):
        await client.create(_CONFIG_MAP, key, {"metadata": metadata, "data": {"forget": REMEDY}})


async def delete_marker(client: Client, namespace: str) -> None:
    """Delete the marker, because the operator confirms that the Gardener is gone."""
    with suppress(NotFoundError):
        await client.delete(_CONFIG_MAP, ObjectKey(namespace, names.GARDENER_SEEN))
