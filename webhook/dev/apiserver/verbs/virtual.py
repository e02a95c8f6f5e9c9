"""Creates that are not stored: reviews, tokens, bindings and evictions."""

from dataclasses import replace
from typing import Final

from webhook.dev.apiserver.admission.chain import CREATE, Attributes
from webhook.dev.apiserver.auth import tokenrequests
from webhook.dev.apiserver.auth.accessreviews import ReviewHandler
from webhook.dev.apiserver.auth.tokens import Signer
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import decoding
from webhook.dev.apiserver.endpoints.calls import Call, field_manager_of, write_options
from webhook.dev.apiserver.registry import managedfields, objectmeta
from webhook.dev.apiserver.verbs import podsubresources
from webhook.kube import status
from webhook.kube.meta import Draft

_SUBRESOURCES: Final = frozenset({"binding", "eviction", "token"})


def is_virtual(call: Call) -> bool:
    """Return whether a call is a create that is not stored."""
    subresource = call.info.subresource
    return call.verb == "create" and (
        subresource in _SUBRESOURCES or (not subresource and call.resource.is_virtual)
    )


class VirtualResources:
    """Handles creates that are not stored."""

    def __init__(self, core: Core, reviews: ReviewHandler, signer: Signer) -> None:
        self._core = core
        self._reviews = reviews
        self._signer = signer

    async def create(self, call: Call) -> Draft:
        """Run admission, then answer a review or perform the action."""
        options = write_options(call, "CreateOptions")
        body = decoding.body_resource(call)
        obj = decoding.decode_object(replace(call, resource=body), options.field_validation)
        objectmeta.ensure_namespace(obj, call.namespace)
        endpoint = managedfields.endpoint_of(self._core.registry, body, call.info.subresource)
        manager = field_manager_of(options, call.user_agent)
        managedfields.track_update(endpoint, {}, obj, manager, self._core.now())
        attributes = Attributes(
            call, CREATE, obj, None, options.to_object("CreateOptions"), options.dry_run
        )
        attributes.name = call.info.name or obj["metadata"].get("name", "")
        await self._core.admission.mutate(attributes)
        await self._core.admission.validate(attributes)
        return await self._perform(call, obj, dry_run=options.dry_run)

    async def _perform(self, call: Call, obj: Draft, *, dry_run: bool) -> Draft:
        subresource = call.info.subresource
        if subresource == "token":
            tokenrequests.issue(self._core, self._signer, call, obj)
        elif subresource == "eviction":
            await podsubresources.evict(self._core, call, obj, dry_run=dry_run)
            return status.success(code=201)
        elif subresource == "binding" or call.resource.kind == "Binding":
            await podsubresources.bind(self._core, call, obj, dry_run=dry_run)
            return status.success(code=201)
        else:
            self._reviews.fill_status(call, obj)
        return obj
