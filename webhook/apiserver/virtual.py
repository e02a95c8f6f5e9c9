"""Creates that store nothing of what they are sent: reviews, tokens, bindings and evictions."""

from dataclasses import replace
from typing import Any, Final

from webhook.api import status
from webhook.apiserver import accounts, decoding, meta, ownership, podparts
from webhook.apiserver.admission import CREATE, Attributes
from webhook.apiserver.calls import Call, manager_of, write_options
from webhook.apiserver.core import Core
from webhook.apiserver.reviewing import Reviews
from webhook.apiserver.tokens import Signer

Object = dict[str, Any]

_PARTS: Final = frozenset({"binding", "eviction", "token"})


def is_virtual(call: Call) -> bool:
    """Whether a create asks or acts instead of storing."""
    part = call.target.subresource
    return call.verb == "create" and (part in _PARTS or (not part and call.resource.is_virtual))


class Virtual:
    """Answers such creates."""

    def __init__(self, core: Core, reviews: Reviews, signer: Signer) -> None:
        self._core = core
        self._reviews = reviews
        self._signer = signer

    async def create(self, call: Call) -> Object:
        """Answer one; through admission, as everything else."""
        options = write_options(call, "CreateOptions")
        body = decoding.body_resource(call)
        obj = decoding.decode_object(replace(call, resource=body), options.field_validation)
        meta.settle_namespace(obj, call.namespace)
        where = ownership.endpoint(self._core.registry, body, call.target.subresource)
        manager = manager_of(options, call.user_agent)
        ownership.updated(where, {}, obj, manager, self._core.now())
        attributes = Attributes(
            call, CREATE, obj, None, options.to_object("CreateOptions"), options.dry_run
        )
        attributes.name = call.target.name or obj["metadata"].get("name", "")
        await self._core.admission.mutate(attributes)
        await self._core.admission.validate(attributes)
        return await self._act(call, obj, dry_run=options.dry_run)

    async def _act(self, call: Call, obj: Object, *, dry_run: bool) -> Object:
        part = call.target.subresource
        if part == "token":
            accounts.issue(self._core, self._signer, call, obj)
        elif part == "eviction":
            await podparts.evict(self._core, call, obj, dry_run=dry_run)
            return status.success(code=201)
        elif part == "binding" or call.resource.kind == "Binding":
            await podparts.bind(self._core, call, obj, dry_run=dry_run)
            return status.success(code=201)
        else:
            self._reviews.answer(call, obj)
        return obj
