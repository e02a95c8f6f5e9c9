"""MachineDeployments read and patched live; the cache and the views show the result at once."""

from collections.abc import Collection
from typing import Final

from webhook.api import names
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import ApiRequest
from webhook.domain.pools.node_groups import GroupMember, members_of
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.nodegroups.views import Views
from webhook.state.views import AssumingCache

_KIND: Final = kind_of_model(MachineDeployment)
_QUERY: Final = {"fieldManager": names.FIELD_MANAGER}


class NodeGroupNotFoundError(Exception):
    """The node group or its MachineDeployment does not exist."""


class LiveDeployments:
    """Reads and patches MachineDeployments, each request with the same timeout."""

    def __init__(self, client: Client, cache: AssumingCache, views: Views, seconds: float) -> None:
        self._client = client
        self._cache = cache
        self._views = views
        self._seconds = seconds

    async def read(self, key: ObjectKey) -> MachineDeployment:
        """Read one; raises NodeGroupNotFoundError or an ApiError."""
        return await self._request(key, requests.get(_KIND, key))

    async def patch(self, key: ObjectKey, change: Draft) -> MachineDeployment:
        """Send a merge patch; raises NodeGroupNotFoundError or an ApiError."""
        return await self._request(key, requests.patch(_KIND, key, change, query=_QUERY))

    async def members(self, deployment: MachineDeployment) -> tuple[GroupMember, ...]:
        """List the machines of a zone."""
        sets = await self._client.list_objects(MachineSet, deployment.namespace)
        machines = await self._client.list_objects(Machine, deployment.namespace)
        uids = {each.uid for each in sets if _is_controlled(each, {deployment.uid})}
        return members_of(deployment, [each for each in machines if _is_controlled(each, uids)])

    async def _request(self, key: ObjectKey, request: ApiRequest) -> MachineDeployment:
        try:
            body = await self._client.send(request, self._seconds)
        except NotFoundError as error:
            message = f"MachineDeployment {key} does not exist any more"
            raise NodeGroupNotFoundError(message) from error
        self._cache.assume_written(_KIND, body)
        self._views.invalidate(key.namespace)
        return decode(MachineDeployment, body)


def _is_controlled(obj: Object, uids: Collection[str]) -> bool:
    return obj.controller is not None and obj.controller.uid in uids
