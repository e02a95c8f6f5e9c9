"""The client of the server's own controllers; its writes pass admission."""

from collections.abc import Callable
from typing import Final

from webhook.dev.apiserver.auth.impersonation import ACCOUNTS, AUTHENTICATED
from webhook.dev.apiserver.auth.rbac import ACCOUNT_PREFIX
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import Call, User, WriteOptions
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo
from webhook.dev.apiserver.registry import managedfields
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.verbs import deletions, writes
from webhook.dev.apiserver.verbs.deletions import DeleteOptions
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft

_NAMESPACE: Final = "kube-system"
"""The namespace of the controllers' ServiceAccounts."""
MANAGER: Final = "kube-controller-manager"
"""The field manager of all controllers."""


class ControllerClient:
    """Writes with the ServiceAccount of one controller."""

    def __init__(self, core: Core, name: str) -> None:
        self._core = core
        groups = (ACCOUNTS, f"{ACCOUNTS}:{_NAMESPACE}", AUTHENTICATED)
        self.user = User(f"{ACCOUNT_PREFIX}{_NAMESPACE}:{name}", groups)

    def _call(
        self, resource: Resource, namespace: str, name: str, verb: str, subresource: str = ""
    ) -> Call:
        target = RequestInfo(
            resource.group, resource.version, resource.plural, namespace, name, subresource
        )
        return Call(resource, target, verb, self.user, user_agent=MANAGER)

    async def create(self, resource: Resource, obj: Draft) -> Entry:
        """Create an object."""
        call = self._call(resource, obj["metadata"].get("namespace", ""), "", "create")
        endpoint = managedfields.endpoint_of(self._core.registry, resource)
        managedfields.track_update(endpoint, {}, obj, MANAGER, self._core.now())
        return await writes.create_object(self._core, call, obj, WriteOptions())

    async def update(
        self, resource: Resource, entry: Entry, edit: Callable[[Draft], None], subresource: str = ""
    ) -> None:
        """Edit the latest state of an object; retried on conflicts."""
        call = self._call(resource, entry.namespace, entry.name, "patch", subresource)
        endpoint = managedfields.endpoint_of(self._core.registry, resource, subresource)

        def transform(live: Draft) -> Draft:
            new: Draft = deep_copy(live)
            edit(new)
            managedfields.track_update(endpoint, live, new, MANAGER, self._core.now())
            return new

        await writes.GuaranteedUpdate(self._core, call, WriteOptions(), transform).run()

    async def delete(self, resource: Resource, entry: Entry, propagation: str = "") -> None:
        """Delete an object with its uid as a precondition."""
        call = self._call(resource, entry.namespace, entry.name, "delete")
        raw: Draft = {"preconditions": {"uid": entry.uid}}
        if propagation:
            raw["propagationPolicy"] = propagation
        options = DeleteOptions(propagation, uid=entry.uid, raw=raw)
        await deletions.delete_object(self._core, call, options)
