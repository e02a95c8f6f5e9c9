"""The admission plugin that calls webhooks: mutating ones in order, validating ones in parallel."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.dev.apiserver.admission.chain import Attributes
from webhook.dev.apiserver.cel import matchconditions
from webhook.dev.apiserver.cel.authorizers import AccessQuery, Authorizer
from webhook.dev.apiserver.cel.matchconditions import Inputs
from webhook.dev.apiserver.webhooks import jsonpatches, managedfields, matching, reviews
from webhook.dev.apiserver.webhooks.client import CallError, WebhookClient
from webhook.dev.apiserver.webhooks.configurations import Webhook, WebhookSource
from webhook.dev.apiserver.webhooks.matching import AdmissionRequest, VersionedResource
from webhook.dev.apiserver.webhooks.reinvocation import MutationRound
from webhook.dev.apiserver.webhooks.reviews import AdmissionResponse, InvalidReviewError
from webhook.kube import gotext, status
from webhook.kube.durations import parse_seconds
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified, StatusError

logger = logging.getLogger(__name__)

ReplaceObject: TypeAlias = Callable[[Attributes, Draft], None]
"""Replaces the object of a request by a patched one; raises StatusError if it cannot be decoded."""
ReinvokePlugins: TypeAlias = Callable[[Attributes], Awaitable[None]]
"""Runs the built-in mutating plugins again after a webhook changed the object."""

REQUEST_SECONDS: Final = 60.0
"""The longest time that a request may take."""
_TIMED_OUT: Final = "request did not complete within requested timeout"
_FAILED_OPEN: Final = "failed-open.{}.webhook.admission.k8s.io/round_{}_index_{}"
"""The audit annotation of a webhook that failed and whose failurePolicy is Ignore."""


class _FailedCallError(Exception):
    """A failed call, to which the webhook's failurePolicy applies."""


@dataclass(frozen=True, slots=True)
class DispatcherDependencies:
    """The functions of the API server that the dispatcher calls."""

    describe: Callable[[Attributes], AdmissionRequest]
    get_namespace: Callable[[str], Draft | None]
    authorizer_for: Callable[[Attributes], Authorizer]
    replace_object: ReplaceObject
    reinvoke_plugins: ReinvokePlugins


class WebhookDispatcher:
    """Calls the configured webhooks that match a request."""

    def __init__(
        self,
        mutating: WebhookSource,
        validating: WebhookSource,
        client: WebhookClient,
        api: DispatcherDependencies,
    ) -> None:
        self._mutating = mutating
        self._validating = validating
        self._client = client
        self._api = api

    async def mutate(self, attributes: Attributes) -> None:
        """Call mutating webhooks in order; after a change reinvoke those with that policy."""
        webhooks = self._mutating.webhooks()
        if not webhooks or matching.is_exempt(self._api.describe(attributes)):
            return
        deadline = _deadline(attributes)
        before = managedfields.entries_of(attributes.obj)
        first = MutationRound(0)
        for webhook in webhooks:
            await self._call_mutating(webhook, attributes, deadline, first)
        if first.changed:
            output = attributes.obj
            await self._api.reinvoke_plugins(attributes)
            second = MutationRound(1)
            to_reinvoke = first.to_reinvoke | (first.called if attributes.obj != output else set())
            for webhook in webhooks:
                if webhook in to_reinvoke:
                    await self._call_mutating(webhook, attributes, deadline, second)
        managedfields.restore_if_invalid(attributes.obj, before)

    async def _call_mutating(
        self, webhook: Webhook, attributes: Attributes, deadline: float, current: MutationRound
    ) -> None:
        request = self._api.describe(attributes)
        resource = self._matching_resource(webhook, request, attributes)
        if resource is None:
            return
        index = current.index
        current.index += 1
        try:
            response = await self._call(webhook, request, resource, deadline, mutating=True)
            self._record_response(webhook, response, attributes)
            changed = self._patch(webhook, response, request, attributes)
        except _FailedCallError as error:
            key = _FAILED_OPEN.format("mutation", current.number, index)
            self._handle_failure(webhook, error, attributes, key, deadline)
            changed = False
        current.record(webhook, changed)

    def _patch(
        self,
        webhook: Webhook,
        response: AdmissionResponse,
        request: AdmissionRequest,
        attributes: Attributes,
    ) -> bool:
        """Apply the patch of a webhook; return whether it changed the object."""
        if not response.patch:
            return False
        try:
            operations = jsonpatches.decode(response.patch)
        except InvalidReviewError as error:
            raise _FailedCallError(str(error)) from error
        if not operations:
            return False
        if attributes.obj is None or request.obj is None:
            raise status.internal_error(
                f"admission webhook {gotext.quote(webhook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if response.patch_type != "JSONPatch":
            raise _FailedCallError(f"unsupported patch type {gotext.quote(response.patch_type)}")
        try:
            patched = jsonpatches.apply(request.obj, operations)
        except jsonpatches.PatchNotApplicableError as error:
            raise status.internal_error(error) from error
        before = dict(attributes.obj)
        self._api.replace_object(attributes, patched)
        return attributes.obj != before

    async def validate(self, attributes: Attributes) -> None:
        """Call validating webhooks in parallel; raise the first rejection in their order."""
        webhooks = self._validating.webhooks()
        if not webhooks:
            return
        request = self._api.describe(attributes)
        if matching.is_exempt(request):
            return
        found = [
            (webhook, self._matching_resource(webhook, request, attributes)) for webhook in webhooks
        ]
        calls = [(webhook, resource) for webhook, resource in found if resource is not None]
        if not calls:
            return
        deadline = _deadline(attributes)
        responses = await asyncio.gather(
            *(
                self._call(webhook, request, resource, deadline, mutating=False)
                for webhook, resource in calls
            ),
            return_exceptions=True,
        )
        rejections: list[StatusError] = []
        for index, ((webhook, _), response) in enumerate(zip(calls, responses, strict=True)):
            try:
                if isinstance(response, BaseException):
                    raise response
                self._record_response(webhook, response, attributes)
            except _FailedCallError as error:
                key = _FAILED_OPEN.format("validating", 0, index)
                if not webhook.ignore_failure:
                    rejections.append(_call_failure(webhook, error))
                else:
                    attributes.annotations[key] = webhook.name
            except StatusError as error:
                rejections.append(error)
        if rejections:
            raise rejections[0]

    def _matching_resource(
        self, webhook: Webhook, request: AdmissionRequest, attributes: Attributes
    ) -> VersionedResource | None:
        """Return the version of the resource to send to a webhook, None if it does not match."""
        if not matching.matches_object_selector(webhook, request):
            return None
        resource = matching.match_rules(webhook, request)
        if resource is None:
            return None
        namespace = self._api.get_namespace(request.namespace) if request.namespace else None
        if not matching.matches_namespace_selector(webhook, request, namespace):
            return None
        if not webhook.conditions:
            return resource
        fields = reviews.request_fields(request, resource)
        query = AccessQuery(
            group=resource.group,
            resource=resource.resource,
            subresource=request.subresource,
            namespace=request.namespace,
            name=request.name,
        )
        inputs = Inputs(
            fields["object"],
            fields["oldObject"],
            {"subResource": "", "name": "", "namespace": "", **fields},
            namespace,
            self._api.authorizer_for(attributes),
            query,
        )
        result = matchconditions.evaluate(webhook.conditions, inputs)
        if result.error and not webhook.ignore_failure:
            qualified = Qualified(request.resource.group, request.resource.resource)
            raise status.forbidden(qualified, request.name, result.error)
        return resource if result.matches and not result.error else None

    async def _call(
        self,
        webhook: Webhook,
        request: AdmissionRequest,
        resource: VersionedResource,
        deadline: float,
        *,
        mutating: bool,
    ) -> AdmissionResponse:
        if request.dry_run and not webhook.supports_dry_run:
            name = gotext.quote(webhook.name)
            raise status.bad_request(f"admission webhook {name} does not support dry run")
        try:
            review = reviews.create_review(request, resource, webhook.review_versions)
            body = await self._client.call(webhook, review.body, deadline)
            return reviews.verify_response(review, body, mutating=mutating)
        except CallError as error:
            raise _FailedCallError(f"failed to call webhook: {error}") from error
        except InvalidReviewError as error:
            raise _FailedCallError(str(error)) from error

    def _record_response(
        self, webhook: Webhook, response: AdmissionResponse, attributes: Attributes
    ) -> None:
        """Record warnings and audit annotations; raise StatusError if the request is denied."""
        for key, value in response.audit_annotations.items():
            attributes.annotations[f"{webhook.name}/{key}"] = value
        for warning in response.warnings:
            attributes.call.warn(warning)
        if not response.allowed:
            raise _denial(webhook, response)

    def _handle_failure(
        self,
        webhook: Webhook,
        error: _FailedCallError,
        attributes: Attributes,
        key: str,
        deadline: float,
    ) -> None:
        if not webhook.ignore_failure:
            raise _call_failure(webhook, error)
        logger.warning("failed calling webhook, failing open", extra={"webhook": webhook.name})
        attributes.annotations[key] = webhook.name
        if asyncio.get_running_loop().time() >= deadline:
            raise status.failure(504, status.TIMEOUT, f"Timeout: {_TIMED_OUT}", {})


def _call_failure(webhook: Webhook, error: _FailedCallError) -> StatusError:
    return status.internal_error(f"failed calling webhook {gotext.quote(webhook.name)}: {error}")


def _denial(webhook: Webhook, response: AdmissionResponse) -> StatusError:
    found = response.status or {}
    denied = f"admission webhook {gotext.quote(webhook.name)} denied the request"
    message, reason = found.get("message") or "", found.get("reason") or ""
    if message or reason:
        text = f"{denied}: {message or reason}"
    else:
        text = f"{denied} without explanation"
    code = max(int(found.get("code") or 0), 400)
    return status.failure(code, reason, text, found.get("details"))


def _deadline(attributes: Attributes) -> float:
    """Return the loop time by which the request must finish, as its client requests."""
    requested = parse_seconds(attributes.call.query.get("timeout", ""))
    seconds = min(requested or REQUEST_SECONDS, REQUEST_SECONDS)
    return asyncio.get_running_loop().time() + seconds
