"""The verdicts on one request: Gardener's without Espalier, and that of our policies."""

import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from tests.support.admission import read
from webhook.admission import engine
from webhook.admission.decision import Decision, Finding, Needs, Operation, Request, UserInfo
from webhook.api import kinds
from webhook.dev.planes.certificates import client_context
from webhook.dev.planes.etcd import Etcd
from webhook.dev.planes.gardener import Gardener
from webhook.domain.options import AdmissionOptions, Options
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.live_reads import AccessReview, LiveList, LiveRead, LiveResult, LiveResults
from webhook.state.snapshot import Snapshot

AT_ONCE: Final = 8
_CUSTOMS: Final = (
    *("shoot.identity", "shoot.references", "shoot.binding", "shoot.confirmation"),
    *("shoot.finalizers", "seed.status", "managedseed.status", "managedseedset.status"),
)
ALIKE: Final = Options(
    admission=AdmissionOptions(
        modes=dict.fromkeys(_CUSTOMS, "deny"), strict_seeds=True, worker_rule="system-components"
    )
)
"""The settings with which our admission matches Gardener's."""
BESIDE: Final = Options(beside_gardener=True)
"""The default settings beside a Gardener."""

_NOW: Final = datetime.now(UTC)
_ADMIN: Final = UserInfo(username="admin", groups=("system:masters",))
_SERVERS_OWN: Final = ("managedFields", "generation", "uid", "resourceVersion", "creationTimestamp")
_PATH: Final = re.compile(
    r"(?<!CloudProfile has )(?<![\w./])(?:metadata|spec)(?:\.\w+|\[[^\]]*\])+"
)
_FAULTS: Final = re.compile(r", (?=spec\.|metadata\.)")
"""What separates two faults in a refusal without causes."""


class Verdict(NamedTuple):
    """A verdict: whether the request is refused, and the messages by field."""

    refused: bool
    messages: Mapping[str, Sequence[str]] = MappingProxyType({})
    text: str = ""

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(self.messages)


@dataclass(frozen=True)
class Case:
    """One request: a base with one field changed, created or updated; or a deletion.

    A deletion is of one object or of all of its kind in its namespace.
    """

    base: str
    field: str
    change: str
    new: Draft
    old: Draft | None = None
    subresource: str = ""
    is_deletion: bool = False
    is_collection: bool = False

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
    """A response of Gardener: a status code, and the object or the refusal."""

    status: int
    body: Draft

    @property
    def is_verdict(self) -> bool:
        """Whether the response is a verdict and not an internal error."""
        return self.status < 500

    @property
    def verdict(self) -> Verdict:
        if self.status < 300:
            return Verdict(False)
        causes = (self.body.get("details") or {}).get("causes") or ()
        text = self.body.get("message", "")
        messages: dict[str, list[str]] = {}
        for cause in causes:
            if cause.get("field"):
                messages.setdefault(cause["field"], []).append(cause["message"])
        if not messages:
            for part in _FAULTS.split(text):
                for field in _PATH.findall(part):
                    messages.setdefault(field, []).append(part)
        return Verdict(True, messages, text)


class GardenerApi:
    """The API of a Gardener, over plain HTTPS."""

    def __init__(self, session: aiohttp.ClientSession, store: Etcd) -> None:
        self._session = session
        self._store = store
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def dry_run(self, case: Case) -> Reply:
        """Send a request as a dry run."""
        if case.is_collection:
            return await self._delete(path_of(case.new), dry_run=True)
        if case.is_deletion:
            return await self.delete(case.new)
        return await self.write(case.new, is_new=case.old is None, sub=case.subresource)

    async def delete(self, body: Draft, *, dry_run: bool = True) -> Reply:
        return await self._delete(f"{path_of(body)}/{body['metadata']['name']}", dry_run=dry_run)

    async def _delete(self, path: str, *, dry_run: bool) -> Reply:
        parameters = {"dryRun": "All"} if dry_run else {}
        async with self._turns, self._session.delete(path, params=parameters) as response:
            return Reply(response.status, _document(await response.read()))

    async def write(
        self, body: Draft, *, is_new: bool = True, sub: str = "", dry_run: bool = True
    ) -> Reply:
        path = path_of(body) if is_new else f"{path_of(body)}/{body['metadata']['name']}"
        parameters = {"dryRun": "All"} if dry_run else {}
        url = f"{path}/{sub}" if sub else path
        async with (
            self._turns,
            self._session.request(
                "POST" if is_new else "PUT", url, json=body, params=parameters
            ) as response,
        ):
            return Reply(response.status, _document(await response.read()))

    async def get(self, path: str) -> Draft:
        async with self._turns, self._session.get(path) as response:
            return _document(await response.read())

    async def mark_deleted(self, path: str, suffix: str) -> None:
        """Mark an object as deleted in etcd that Gardener does not allow to be deleted."""
        keyring = self._store.keyring()
        client = keyring.client("client", "apiserver")
        context = await asyncio.to_thread(client_context, keyring.files.certificate, client)
        connector = aiohttp.TCPConnector(ssl=context)
        everything = {"key": _encoded(b"/registry-gardener/"), "range_end": _encoded(b"/s")}
        async with aiohttp.ClientSession(self._store.url, connector=connector) as store:
            async with store.post("/v3/kv/range", json=everything) as response:
                stored = (await response.json())["kvs"]
            [found] = (each for each in stored if b64decode(each["key"]).endswith(suffix.encode()))
            body = msgspec.json.decode(b64decode(found["value"]))
            body["metadata"] |= {
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 0,
                "finalizers": ["example.org/test"],
            }
            wanted = {"key": found["key"], "value": _encoded(msgspec.json.encode(body))}
            async with store.post("/v3/kv/put", json=wanted) as response:
                assert response.status == 200, await response.text()
        async with asyncio.timeout(90):
            while "deletionTimestamp" not in (await self.get(path))["metadata"]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def everything(self) -> list[Draft]:
        """Return what our cache would hold of this cluster."""
        found: list[Draft] = []
        for kind in kinds.KINDS:
            listed = await self.get(f"{_root(kind.api_version)}/{kind.plural}")
            same = {"apiVersion": kind.api_version, "kind": kind.name}
            found += [{**same, **item} for item in listed.get("items", ())]
        return found


def _encoded(data: bytes) -> str:
    return b64encode(data).decode()


def path_of(body: Mapping[str, Any]) -> str:
    """Return the path of the collection of an object."""
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
async def open_garden(plane: Gardener) -> AsyncIterator[GardenerApi]:
    """Connect to a Gardener with its administrator's certificate."""
    context = await asyncio.to_thread(plane.admin.context)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(plane.url, connector=connector) as session:
        yield GardenerApi(session, plane.etcd)


def fresh(body: Mapping[str, Any]) -> Draft:
    """Remove the fields that a server sets, so that the object can be created again."""
    metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVERS_OWN}
    rest = {key: value for key, value in body.items() if key != "status"}
    return {**rest, "metadata": metadata}


class EspalierPolicies:
    """Our policies over the objects of the cluster, with one set of settings."""

    def __init__(self, objects: Iterable[Draft], options: Options) -> None:
        self._bodies = [*objects]
        self._objects = [read(body) for body in self._bodies]
        self._memory = ClusterState([kind.model for kind in kinds.KINDS], options=options)
        for each in self._objects:
            self._memory.store(type(each)).put(each.key, each, msgspec.json.encode(each))

    def decide(self, case: Case) -> Verdict:
        """Return the verdict of all policies on the same request.

        A webhook gets the objects of a collection one by one; one refusal refuses the whole.
        """
        parameters = [*self._members(case)] if case.is_collection else [case]
        found = [each for one in parameters for each in self.findings(one) if each.fatal]
        messages: dict[str, list[str]] = {}
        for each in found:
            messages.setdefault(each.field, []).append(each.message)
        text = "; ".join(f"{each.policy}: {each.field}: {each.message}" for each in found)
        return Verdict(bool(found), messages, text)

    def _members(self, case: Case) -> Iterator[Case]:
        namespace = case.new["metadata"].get("namespace", "")
        for body in self._bodies:
            same = body["metadata"].get("namespace", "") == namespace
            if same and body["kind"] == case.kind:
                yield replace(case, new=body, old=body, is_collection=False)

    def findings(self, case: Case) -> Sequence[Finding]:
        request = _request(case)
        answers: LiveResults = {}
        while True:
            snapshot = Snapshot(self._memory, _NOW, live_results=answers)
            decision: Decision | Needs = engine.decide(request, snapshot)
            if isinstance(decision, Decision):
                return decision.findings
            answers = {**answers, **{each: self._answer(each) for each in decision.live_reads}}

    def _answer(self, question: LiveRead) -> LiveResult:
        if isinstance(question, LiveList):
            return tuple(filter(question.matches, self._objects))
        return True if isinstance(question, AccessReview) else None


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
