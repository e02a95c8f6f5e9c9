"""Answer what a decision could not find in memory, by asking the API server."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import UNREADABLE, ApiError, NotFoundError
from webhook.cluster.pacing import Clock
from webhook.state.questions import Answer, Answers, Find, Get, MayI, Question

GRANTED_SECONDS: Final = 10.0
"""How long a right that was taken away may still be used to choose seeds."""

_MOST_GRANTED: Final = 1024

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class UnanswerableError(Exception):
    """Raised when the API server cannot answer in time: our fault, and nobody's refusal."""


class Rights:
    """Remembers for a moment who may do what: people and robots ask in bursts.

    Only a yes is remembered, so that a right that was just granted counts at once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._granted: dict[MayI, float] = {}

    def has(self, question: Question) -> bool:
        """Tell whether the answer is known to be yes."""
        until = self._granted.get(question) if isinstance(question, MayI) else None
        return until is not None and self._clock.monotonic() < until

    def learn(self, answers: Answers) -> None:
        """Remember what was granted."""
        until = self._clock.monotonic() + GRANTED_SECONDS
        if len(self._granted) >= _MOST_GRANTED:
            self._granted.clear()
        granted = (each for each, yes in answers.items() if isinstance(each, MayI) and yes is True)
        self._granted.update(dict.fromkeys(granted, until))


async def answer(client: Client, questions: Iterable[Question], seconds: float) -> Answers:
    """Answer all questions at once, within so many seconds, or none.

    What the server says is not there is absent; any other failure is no answer.
    """
    asked = [*questions]
    failure: Exception | None = None
    tasks: list[asyncio.Task[Answer]] = []
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            tasks = [group.create_task(_ask(client, question, seconds)) for question in asked]
    except* (ApiError, TimeoutError, *UNREADABLE) as failures:
        failure = failures.exceptions[0]
    if failure is not None:
        why = str(failure) or "no answer in time"
        raise UnanswerableError(f"the API server could not be asked: {why}") from failure
    return {question: task.result() for question, task in zip(asked, tasks, strict=True)}


async def _ask(client: Client, question: Question, seconds: float) -> Answer:
    if isinstance(question, MayI):
        return await _review(client, question, seconds)
    if isinstance(question, Find):
        return await _find(client, question)
    return await _get(client, question, seconds)


async def _get(client: Client, question: Get, seconds: float) -> Object | None:
    request = requests.get(kind_of_model(question.model), question.key)
    try:
        return decode(question.model, await client.send(request, seconds))
    except NotFoundError:
        return None


async def _find(client: Client, question: Find) -> tuple[Object, ...]:
    kind = kind_of_model(question.model)
    labels = f"{question.label}={question.value}"
    selection = requests.Selection(kind, question.namespace, labels=labels)
    found: list[Object] = []
    token = ""
    while True:
        page = await client.page(selection, token)
        found += (decode(question.model, item) for item in page.items)
        token = page.token
        if not token:
            return tuple(found)


async def _review(client: Client, question: MayI, seconds: float) -> bool:
    attributes = {
        "verb": question.verb,
        "group": question.group,
        "resource": question.resource,
        "subresource": question.subresource,
        "namespace": question.namespace,
        "name": question.name,
    }
    spec: dict[str, Any] = {
        "user": question.username,
        "uid": question.uid,
        "groups": question.groups,
        "extra": dict(question.extra),
        "resourceAttributes": attributes,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    answered = await client.document(requests.post(_REVIEWS, review), seconds)
    return answered.get("status", {}).get("allowed") is True
