"""Evaluates manifests with the server's policies, against stored objects."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from webhook.admission import engine
from webhook.admission.decision import Finding, Needs, Request
from webhook.api import decode
from webhook.cli.manifestfiles import Manifest
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object
from webhook.state.live_reads import (
    AccessReview,
    LiveList,
    LiveRead,
    LiveResult,
    LiveResults,
    MissingReads,
    evaluate_with_reads,
)
from webhook.state.snapshot import Snapshot

_MAX_ROUNDS: Final = 10
"""More than any chain of live reads is long."""


class ManifestFinding(NamedTuple):
    """One finding, and the file and object that it is about."""

    path: str
    object: str
    finding: Finding


async def evaluate(
    manifests: Iterable[Manifest],
    stored: Iterable[Manifest],
    now: datetime,
    options: Options,
) -> list[ManifestFinding]:
    """Evaluate each manifest as if all of them were applied to the stored objects."""
    wanted, known = [*manifests], {(each.kind, each.key): each for each in stored}
    landscape = known | {(each.kind, each.key): each for each in wanted}
    objects = [obj for each in landscape.values() if (obj := _read(each)) is not None]
    found: list[ManifestFinding] = []
    for manifest in wanted:
        old = known.get((manifest.kind, manifest.key))
        name = f"{manifest.kind.name} {manifest.key}"
        findings = await _findings(manifest, old, objects, now, options)
        found += [ManifestFinding(manifest.path, name, finding) for finding in findings]
    return found


async def _findings(
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

    table = engine.table_of(options.features)

    def decide(results: LiveResults) -> tuple[Finding, ...] | MissingReads:
        snapshot = Snapshot.of(objects, taken_at=now, options=options, live_results=results)
        decision = engine.decide(request, snapshot, table)
        if isinstance(decision, Needs):
            return MissingReads(decision.live_reads)
        return decision.findings

    async def read(live_reads: Sequence[LiveRead]) -> LiveResults:
        return {each: _result_of(each, objects) for each in live_reads}

    return await evaluate_with_reads(decide, read, _MAX_ROUNDS)


def _result_of(live_read: LiveRead, objects: Iterable[Object]) -> LiveResult:
    """Read from the manifests; the user who applies them is taken to have every permission."""
    if isinstance(live_read, LiveList):
        return tuple(filter(live_read.matches, objects))
    return True if isinstance(live_read, AccessReview) else None


def _read(manifest: Manifest) -> Object | None:
    try:
        return decode.convert(manifest.kind.model, json.loads(_encode(manifest.raw)))
    except msgspec.ValidationError:
        return None


def _encode(raw: Draft) -> bytes:
    """Encode as JSON; YAML dates become the strings that Kubernetes expects."""
    return json.dumps(raw, default=str).encode()
