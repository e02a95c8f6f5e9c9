"""Judge manifests with the very table of the server, against other manifests or a cluster."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from webhook.admission import engine
from webhook.admission.decision import Finding, Needs, Request
from webhook.api import decode
from webhook.api.meta import Draft, Object
from webhook.cli.checking.manifests import Manifest
from webhook.domain.options import Options
from webhook.state.questions import Answer, Answers, Find, MayI, Question
from webhook.state.snapshot import Snapshot


class Objection(NamedTuple):
    """One finding, and the manifest that it is about."""

    path: str
    object: str
    finding: Finding


def judge(
    manifests: Iterable[Manifest],
    stored: Iterable[Manifest],
    now: datetime,
    options: Options,
) -> Iterator[Objection]:
    """Judge each manifest as if all were applied to what is stored."""
    wanted, known = [*manifests], {(each.kind, each.key): each for each in stored}
    landscape = known | {(each.kind, each.key): each for each in wanted}
    objects = [obj for each in landscape.values() if (obj := _read(each)) is not None]
    for manifest in wanted:
        old = known.get((manifest.kind, manifest.key))
        name = f"{manifest.kind.name} {manifest.key}"
        for finding in _findings(manifest, old, objects, now, options):
            yield Objection(manifest.path, name, finding)


def _findings(
    manifest: Manifest,
    old: Manifest | None,
    objects: list[Object],
    now: datetime,
    options: Options,
) -> tuple[Finding, ...]:
    request = Request(
        uid="check",
        kind=manifest.kind,
        operation="CREATE" if old is None else "UPDATE",
        key=manifest.key,
        new=_encode(manifest.raw),
        old=None if old is None else _encode(old.raw),
    )
    answers: Answers = {}
    while True:
        snapshot = Snapshot.of(objects, taken_at=now, options=options, answers=answers)
        decision = engine.decide(request, snapshot)
        if not isinstance(decision, Needs):
            return decision.findings
        answers = {**answers, **{each: _answer(each, objects) for each in decision.questions}}


def _answer(question: Question, objects: Iterable[Object]) -> Answer:
    """What is in no manifest is not there; who applies manifests is taken to have the right."""
    if isinstance(question, Find):
        return tuple(filter(question.matches, objects))
    return True if isinstance(question, MayI) else None


def _read(manifest: Manifest) -> Object | None:
    try:
        return decode.convert(manifest.kind.model, json.loads(_encode(manifest.raw)))
    except msgspec.ValidationError:
        return None


def _encode(raw: Draft) -> bytes:
    """Write JSON; YAML also has dates, which are texts to Kubernetes."""
    return json.dumps(raw, default=str).encode()
