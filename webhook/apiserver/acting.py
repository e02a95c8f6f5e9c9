"""Write as one of the server's own controllers: through admission, like any other client."""

import copy
from collections.abc import Callable
from typing import Any, Final

from webhook.apiserver import deleting, ownership, writing
from webhook.apiserver.calls import Call, User, WriteOptions
from webhook.apiserver.core import Core
from webhook.apiserver.deleting import DeleteOptions
from webhook.apiserver.entries import Entry
from webhook.apiserver.impersonation import ACCOUNTS, AUTHENTICATED
from webhook.apiserver.rbac import ACCOUNT_PREFIX
from webhook.apiserver.requests import Target
from webhook.apiserver.resources import Resource

Object = dict[str, Any]

#: The namespaces' home of controllers, and the name under which they own fields.
_HOME: Final = "kube-system"
MANAGER: Final = "kube-controller-manager"


class Actor:
    """A controller with an identity of its own."""

    def __init__(self, core: Core, name: str) -> None:
        self._core = core
        groups = (ACCOUNTS, f"{ACCOUNTS}:{_HOME}", AUTHENTICATED)
        self.user = User(f"{ACCOUNT_PREFIX}{_HOME}:{name}", groups)

    def _call(
        self, resource: Resource, namespace: str, name: str, verb: str, part: str = ""
    ) -> Call:
        target = Target(resource.group, resource.version, resource.plural, namespace, name, part)
        return Call(resource, target, verb, self.user, user_agent=MANAGER)

    async def create(self, resource: Resource, obj: Object) -> Entry:
        """Create an object."""
        call = self._call(resource, obj["metadata"].get("namespace", ""), "", "create")
        where = ownership.endpoint(self._core.registry, resource)
        ownership.updated(where, {}, obj, MANAGER, self._core.now())
        return await writing.create_object(self._core, call, obj, WriteOptions())

    async def change(
        self, resource: Resource, entry: Entry, edit: Callable[[Object], None], part: str = ""
    ) -> None:
        """Edit an object, from its newest state on."""
        call = self._call(resource, entry.namespace, entry.name, "patch", part)
        where = ownership.endpoint(self._core.registry, resource, part)

        def transform(live: Object) -> Object:
            new = copy.deepcopy(live)
            edit(new)
            ownership.updated(where, live, new, MANAGER, self._core.now())
            return new

        await writing.Change(self._core, call, WriteOptions(), transform).run()

    async def delete(self, resource: Resource, entry: Entry, propagation: str = "") -> None:
        """Delete exactly this object."""
        call = self._call(resource, entry.namespace, entry.name, "delete")
        raw: Object = {"preconditions": {"uid": entry.uid}}
        if propagation:
            raw["propagationPolicy"] = propagation
        options = DeleteOptions(propagation, uid=entry.uid, raw=raw)
        await deleting.delete_object(self._core, call, options)
