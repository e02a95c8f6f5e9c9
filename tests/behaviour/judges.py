"""Two judges of one request: a Gardener that has never met us, and our own table."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from tests.admission import read
from webhook.admission import engine
from webhook.admission.decision import Decision, Finding, Needs, Operation, Request, UserInfo
from webhook.api import kinds
from webhook.api.meta import Draft, ObjectKey
from webhook.domain.options import AdmissionOptions, Options
from webhook.planes.gardener import Gardener
from webhook.state.memory import Memory
from webhook.state.questions import Answer, Answers, Find, MayI, Question
from webhook.state.snapshot import Snapshot

AT_ONCE: Final = 8
_CUSTOMS: Final = ("shoot.identity", "shoot.references", "shoot.binding", "shoot.confirmation")
ALIKE: Final = Options(
    admission=AdmissionOptions(
        modes=dict.fromkeys(_CUSTOMS, "deny"), strict_seeds=True, worker_rule="system-components"
    )
)
"""The settings with which admission is meant to be Gardener's own."""
BESIDE: Final = Options(beside_gardener=True)
"""The settings of a server that nobody told anything, on a landscape with a Gardener."""

_NOW: Final = datetime.now(UTC)
_ADMIN: Final = UserInfo(username="admin", groups=("system:masters",))
_SERVERS_OWN: Final = ("managedFields", "generation", "uid", "resourceVersion", "creationTimestamp")
_PATH: Final = re.compile(
    r"(?<!CloudProfile has )(?<![\w./])(?:metadata|spec)(?:\.\w+|\[[^\]]*\])+"
)
_FAULTS: Final = re.compile(r", (?=spec\.|metadata\.)")
"""What stands between two faults where a refusal has no causes."""


class Verdict(NamedTuple):
    """What a judge said: whether it refuses, and its words for each field that it names."""

    refused: bool
    said: Mapping[str, Sequence[str]] = MappingProxyType({})
    text: str = ""

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(self.said)


@dataclass(frozen=True)
class Case:
    """One request: a base with one field changed, created or stored over what is there; or gone."""

    base: str
    field: str
    change: str
    new: Draft
    old: Draft | None = None
    subresource: str = ""
    is_deletion: bool = False

    @property
    def kind(self) -> str:
        kind: str = self.new["kind"]
        return kind

    @property
    def operation(self) -> Operation:
        if self.is_deletion:
            return "DELETE"
        return "CREATE" if self.old is None else "UPDATE"

    @property
    def title(self) -> str:
        what = f"{self.base}/{self.subresource}" if self.subresource else self.base
        return f"{self.operation.lower()} {what}: {self.field} {self.change}"


class Reply(NamedTuple):
    """What Gardener answered: a status, and the object or the refusal."""

    status: int
    body: Draft

    @property
    def is_verdict(self) -> bool:
        """Whether it judged at all: a server that broke down over a request has not."""
        return self.status < 500

    @property
    def verdict(self) -> Verdict:
        if self.status < 300:
            return Verdict(False)
        causes = (self.body.get("details") or {}).get("causes") or ()
        text = self.body.get("message", "")
        said: dict[str, list[str]] = {}
        for cause in causes:
            if cause.get("field"):
                said.setdefault(cause["field"], []).append(cause["message"])
        if not said:
            for part in _FAULTS.split(text):
                for field in _PATH.findall(part):
                    said.setdefault(field, []).append(part)
        return Verdict(True, said, text)


class Garden:
    """The API of a Gardener, over plain HTTPS."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def dry_run(self, case: Case) -> Reply:
        """Ask whether a request would be accepted."""
        if case.is_deletion:
            return await self.delete(case.new)
        return await self.write(case.new, is_new=case.old is None, sub=case.subresource)

    async def delete(self, body: Draft, *, dry_run: bool = True) -> Reply:
        path = f"{path_of(body)}/{body['metadata']['name']}"
        asked = {"dryRun": "All"} if dry_run else {}
        async with self._turns, self._session.delete(path, params=asked) as response:
            return Reply(response.status, _document(await response.read()))

    async def write(
        self, body: Draft, *, is_new: bool = True, sub: str = "", dry_run: bool = True
    ) -> Reply:
        path = path_of(body) if is_new else f"{path_of(body)}/{body['metadata']['name']}"
        asked = {"dryRun": "All"} if dry_run else {}
        url = f"{path}/{sub}" if sub else path
        async with (
            self._turns,
            self._session.request(
                "POST" if is_new else "PUT", url, json=body, params=asked
            ) as response,
        ):
            return Reply(response.status, _document(await response.read()))

    async def get(self, path: str) -> Draft:
        async with self._turns, self._session.get(path) as response:
            return _document(await response.read())

    async def everything(self) -> list[Draft]:
        """List what our cache would hold of this cluster."""
        found: list[Draft] = []
        for kind in kinds.KINDS:
            listed = await self.get(f"{_root(kind.api_version)}/{kind.plural}")
            same = {"apiVersion": kind.api_version, "kind": kind.name}
            found += [{**same, **item} for item in listed.get("items", ())]
        return found


def path_of(body: Mapping[str, Any]) -> str:
    """Give the address of the list that an object belongs to."""
    kind = kinds.find_kind(body["apiVersion"], body["kind"])
    assert kind is not None, body["kind"]
    namespace = body["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{_root(body['apiVersion'])}{place}/{kind.plural}"


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _document(data: bytes) -> Draft:
    try:
        found: Draft = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"message": data.decode()}
    return found


@asynccontextmanager
async def open_garden(plane: Gardener) -> AsyncIterator[Garden]:
    """Open the API of a Gardener with its administrator's certificate."""
    context = await asyncio.to_thread(plane.admin.context)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(plane.url, connector=connector) as session:
        yield Garden(session)


def fresh(body: Mapping[str, Any]) -> Draft:
    """Take off what the server gave an object, so that it can be created again."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVERS_OWN}
    rest = {key: value for key, value in body.items() if key != "status"}
    return {**rest, "metadata": metadata}


class Landscape:
    """What our decisions know of the cluster, under one set of settings."""

    def __init__(self, objects: Iterable[Draft], options: Options) -> None:
        self._objects = [read(body) for body in objects]
        self._memory = Memory([kind.model for kind in kinds.KINDS], options=options)
        for each in self._objects:
            self._memory.store(type(each)).put(each.key, each, msgspec.json.encode(each))

    def judge(self, case: Case) -> Verdict:
        """Say what our whole table says to the same request."""
        found = [each for each in self.findings(case) if each.fatal]
        said: dict[str, list[str]] = {}
        for each in found:
            said.setdefault(each.field, []).append(each.message)
        text = "; ".join(f"{each.policy}: {each.field}: {each.message}" for each in found)
        return Verdict(bool(found), said, text)

    def findings(self, case: Case) -> Sequence[Finding]:
        request = _request(case)
        answers: Answers = {}
        while True:
            snapshot = Snapshot(self._memory, _NOW, answers=answers)
            decision: Decision | Needs = engine.decide(request, snapshot)
            if isinstance(decision, Decision):
                return decision.findings
            answers = {**answers, **{each: self._answer(each) for each in decision.questions}}

    def _answer(self, question: Question) -> Answer:
        if isinstance(question, Find):
            return tuple(filter(question.matches, self._objects))
        return True if isinstance(question, MayI) else None


def _request(case: Case) -> Request:
    metadata = case.new["metadata"]
    return Request(
        uid="0123",
        kind=kinds.find_kind(case.new["apiVersion"], case.new["kind"]),
        operation=case.operation,
        key=ObjectKey(metadata.get("namespace", ""), metadata.get("name", "")),
        subresource=case.subresource,
        user=_ADMIN,
        dry_run=True,
        new=None if case.is_deletion else msgspec.json.encode(case.new),
        old=None if case.old is None else msgspec.json.encode(case.old),
    )
