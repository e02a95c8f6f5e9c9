"""The admission plugin that calls webhooks: mutating ones in turn, validating ones together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from webhook.api import gotext, status
from webhook.api.status import Qualified, StatusError
from webhook.apiserver import durations
from webhook.apiserver.admission import Attributes
from webhook.apiserver.cel import conditions
from webhook.apiserver.cel.authorizers import Authorizer
from webhook.apiserver.cel.authorizers import Question as AccessQuestion
from webhook.apiserver.cel.conditions import Inputs
from webhook.apiserver.webhooks import jsonpatches, matching, reviews
from webhook.apiserver.webhooks.client import CallError, Client
from webhook.apiserver.webhooks.hooks import Hook, Hooks
from webhook.apiserver.webhooks.matching import Identity, Request
from webhook.apiserver.webhooks.reviews import Answer, BadAnswerError

logger = logging.getLogger(__name__)

Object = dict[str, Any]
#: Takes over a patched object as if a client had sent it; a StatusError if it cannot be read.
Adopt = Callable[[Attributes, Object], None]
Again = Callable[[Attributes], Awaitable[None]]

REQUEST_SECONDS: Final = 60.0
_TIMED_OUT: Final = "request did not complete within requested timeout"
_FAILED_OPEN: Final = "failed-open.{}.webhook.admission.k8s.io/round_{}_index_{}"


class _FailedCallError(Exception):
    """A call about which the webhook's failurePolicy decides."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What webhooks need to know beside the request itself."""

    describe: Callable[[Attributes], Request]
    namespace: Callable[[str], Object | None]
    authorizer: Callable[[Attributes], Authorizer]
    adopt: Adopt
    again: Again


class Webhooks:
    """Calls the configured webhooks for each request that concerns them."""

    def __init__(
        self, mutating: Hooks, validating: Hooks, client: Client, around: Surroundings
    ) -> None:
        self._mutating = mutating
        self._validating = validating
        self._client = client
        self._around = around

    async def mutate(self, attributes: Attributes) -> None:
        """Call mutating webhooks in turn; after a change, once more those that ask for it."""
        hooks = self._mutating.all()
        if not hooks or matching.is_exempt(self._around.describe(attributes)):
            return
        deadline = _deadline(attributes)
        before = _managed_fields(attributes.obj)
        first = _Round(0)
        for hook in hooks:
            await self._mutate_by(hook, attributes, deadline, first)
        if first.changed:
            output = attributes.obj
            await self._around.again(attributes)
            second = _Round(1)
            wanted = first.again | (first.called if attributes.obj != output else set())
            for hook in hooks:
                if hook in wanted:
                    await self._mutate_by(hook, attributes, deadline, second)
        _keep_managed_fields(attributes.obj, before)

    async def _mutate_by(
        self, hook: Hook, attributes: Attributes, deadline: float, current: "_Round"
    ) -> None:
        request = self._around.describe(attributes)
        identity = self._identity(hook, request, attributes)
        if identity is None:
            return
        index = current.index
        current.index += 1
        try:
            answer = await self._ask(hook, request, identity, deadline, mutating=True)
            self._take(hook, answer, attributes)
            changed = self._patch(hook, answer, request, attributes)
        except _FailedCallError as error:
            key = _FAILED_OPEN.format("mutation", current.number, index)
            self._give_up(hook, error, attributes, key, deadline)
            changed = False
        current.note(hook, changed)

    def _patch(self, hook: Hook, answer: Answer, request: Request, attributes: Attributes) -> bool:
        """Apply what a webhook wants changed; tell whether that changed anything."""
        if not answer.patch:
            return False
        try:
            operations = jsonpatches.decode(answer.patch)
        except BadAnswerError as error:
            raise _FailedCallError(str(error)) from error
        if not operations:
            return False
        if attributes.obj is None or request.obj is None:
            raise status.internal_error(
                f"admission webhook {gotext.quote(hook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if answer.patch_type != "JSONPatch":
            raise _FailedCallError(f"unsupported patch type {gotext.quote(answer.patch_type)}")
        try:
            patched = jsonpatches.applied(request.obj, operations)
        except jsonpatches.UnfitPatchError as error:
            raise status.internal_error(error) from error
        before = dict(attributes.obj)
        self._around.adopt(attributes, patched)
        return attributes.obj != before

    async def validate(self, attributes: Attributes) -> None:
        """Call validating webhooks together; the first in order that refuses is heard."""
        hooks = self._validating.all()
        if not hooks:
            return
        request = self._around.describe(attributes)
        if matching.is_exempt(request):
            return
        found = [(hook, self._identity(hook, request, attributes)) for hook in hooks]
        calls = [(hook, identity) for hook, identity in found if identity is not None]
        if not calls:
            return
        deadline = _deadline(attributes)
        answers = await asyncio.gather(
            *(
                self._ask(hook, request, identity, deadline, mutating=False)
                for hook, identity in calls
            ),
            return_exceptions=True,
        )
        refusals: list[StatusError] = []
        for index, ((hook, _), answer) in enumerate(zip(calls, answers, strict=True)):
            try:
                if isinstance(answer, BaseException):
                    raise answer
                self._take(hook, answer, attributes)
            except _FailedCallError as error:
                key = _FAILED_OPEN.format("validating", 0, index)
                if not hook.ignore_failure:
                    refusals.append(_failed(hook, error))
                else:
                    attributes.annotations[key] = hook.name
            except StatusError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    def _identity(self, hook: Hook, request: Request, attributes: Attributes) -> Identity | None:
        """Return in which version to ask a webhook, None if it is not to be asked."""
        if not matching.selected_object(hook, request):
            return None
        identity = matching.identity_for(hook, request)
        if identity is None:
            return None
        namespace = self._around.namespace(request.namespace) if request.namespace else None
        if not matching.selected_namespace(hook, request, namespace):
            return None
        if not hook.conditions:
            return identity
        described = reviews.describe(request, identity)
        about = AccessQuestion(
            group=identity.group,
            resource=identity.resource,
            subresource=request.subresource,
            namespace=request.namespace,
            name=request.name,
        )
        inputs = Inputs(
            described["object"],
            described["oldObject"],
            {"subResource": "", "name": "", "namespace": "", **described},
            namespace,
            self._around.authorizer(attributes),
            about,
        )
        verdict = conditions.verdict(hook.conditions, inputs)
        if verdict.error and not hook.ignore_failure:
            resource = Qualified(request.identity.group, request.identity.resource)
            raise status.forbidden(resource, request.name, verdict.error)
        return identity if verdict.matches and not verdict.error else None

    async def _ask(
        self, hook: Hook, request: Request, identity: Identity, deadline: float, *, mutating: bool
    ) -> Answer:
        if request.dry_run and not hook.supports_dry_run:
            name = gotext.quote(hook.name)
            raise status.bad_request(f"admission webhook {name} does not support dry run")
        try:
            asked = reviews.question(request, identity, hook.review_versions)
            body = await self._client.call(hook, asked.body, deadline)
            return reviews.answer(asked, body, mutating=mutating)
        except CallError as error:
            raise _FailedCallError(f"failed to call webhook: {error}") from error
        except BadAnswerError as error:
            raise _FailedCallError(str(error)) from error

    def _take(self, hook: Hook, answer: Answer, attributes: Attributes) -> None:
        """Note warnings and annotations; raise the refusal, if it is one."""
        for key, value in answer.audit_annotations.items():
            attributes.annotations[f"{hook.name}/{key}"] = value
        for warning in answer.warnings:
            attributes.call.warn(warning)
        if not answer.allowed:
            raise _refusal(hook, answer)

    def _give_up(
        self,
        hook: Hook,
        error: _FailedCallError,
        attributes: Attributes,
        key: str,
        deadline: float,
    ) -> None:
        if not hook.ignore_failure:
            raise _failed(hook, error)
        logger.warning("failed calling webhook, failing open", extra={"webhook": hook.name})
        attributes.annotations[key] = hook.name
        if asyncio.get_running_loop().time() >= deadline:
            raise status.failure(504, status.TIMEOUT, f"Timeout: {_TIMED_OUT}", {})


class _Round:
    """One pass over the webhooks: who was called, and who has to be called again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.index = 0
        self.changed = False
        self.called: set[Hook] = set()
        self.again: set[Hook] = set()

    def note(self, hook: Hook, changed: bool) -> None:
        """A change concerns everyone who saw the object before it."""
        if changed:
            self.changed = True
            self.again |= self.called
            self.called = set()
        if hook.reinvoke:
            self.called.add(hook)


def _failed(hook: Hook, error: _FailedCallError) -> StatusError:
    return status.internal_error(f"failed calling webhook {gotext.quote(hook.name)}: {error}")


def _refusal(hook: Hook, answer: Answer) -> StatusError:
    found = answer.status or {}
    denied = f"admission webhook {gotext.quote(hook.name)} denied the request"
    message, reason = found.get("message") or "", found.get("reason") or ""
    if message or reason:
        text = f"{denied}: {message or reason}"
    else:
        text = f"{denied} without explanation"
    code = max(int(found.get("code") or 0), 400)
    return status.failure(code, reason, text, found.get("details"))


def _deadline(attributes: Attributes) -> float:
    """The time by which the request has to be answered, as its client asked."""
    asked = durations.parse(attributes.call.query.get("timeout", ""))
    seconds = min(asked or REQUEST_SECONDS, REQUEST_SECONDS)
    return asyncio.get_running_loop().time() + seconds


def _managed_fields(obj: Object | None) -> Any:
    return ((obj or {}).get("metadata") or {}).get("managedFields")


def _keep_managed_fields(obj: Object | None, before: Any) -> None:
    """Webhooks may not break who owns what."""
    after = _managed_fields(obj)
    if obj is None or after == before:
        return
    valid = isinstance(after, list) and all(
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and entry.get("fieldsType") == "FieldsV1"
        for entry in after
    )
    if not valid and before is not None:
        obj["metadata"]["managedFields"] = before
