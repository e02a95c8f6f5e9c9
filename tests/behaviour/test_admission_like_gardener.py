"""Our admission compared with Gardener's: one field changed at a time, decided by both."""

import asyncio
import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
import pytest_asyncio

from tests.behaviour.comparison.base_objects import create_base_objects, open_fresh_garden
from tests.behaviour.comparison.differences import DIFFERENCES, Departure
from tests.behaviour.comparison.edge_cases import create_edge_cases
from tests.behaviour.comparison.seed_changes import create_seed_changes
from tests.behaviour.comparison.variants import cases
from tests.behaviour.comparison.verdicts import (
    ALIKE,
    BESIDE,
    Case,
    EspalierPolicies,
    GardenerApi,
    Reply,
    path_of,
)
from tests.behaviour.gardener_examples import ACCEPTED, TAKEN_FOR_GRANTED, examples
from tests.support.control_planes import require_parts
from webhook.api.kinds import find_kind
from webhook.kube.meta import Draft

pytestmark = pytest.mark.timeout(480)

FEWEST = 1_000
FIRST = int(os.environ.get("ESPALIER_SEED", "0"))
GROUPS = ("core.gardener.cloud", "seedmanagement.gardener.cloud", "security.gardener.cloud")


class RecordedReplies(NamedTuple):
    """The objects of the garden, the requests, and its responses."""

    objects: list[Draft]
    answers: list[tuple[Case, Reply]]
    examples: list[tuple[str, Reply]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedReplies:
    """Send every request to a Gardener without Espalier, then its own examples."""
    require_parts("etcd", "kubernetes", "gardener")
    async with open_fresh_garden(tmp_path_factory.mktemp("alone")) as garden:
        bases = [
            *await create_base_objects(garden),
            *await create_seed_changes(garden),
            *await create_edge_cases(garden),
        ]
        objects = await garden.everything()
        wanted = [*cases(bases, random.Random(FIRST))]
        replies = await asyncio.gather(*map(garden.dry_run, wanted))
        return RecordedReplies(
            objects, [*zip(wanted, replies, strict=True)], await apply_examples(garden)
        )


async def apply_examples(garden: GardenerApi) -> list[tuple[str, Reply]]:
    """Store Gardener's examples, configuration first; many of them are sketches.

    Some need others: what is refused is sent again as long as that helps.
    """
    for body in TAKEN_FOR_GRANTED:
        await apply(garden, body)
    found = await asyncio.to_thread(lambda: [*examples()])
    wanted = [each for each in found if is_of_gardens(each[1])]
    wanted.sort(key=lambda each: not each[0].startswith("components/"))
    replies: dict[int, Reply] = {}
    refused, left = 0, [*range(len(wanted))]
    while len(left) != refused:
        refused = len(left)
        for place in left:
            replies[place] = await apply(garden, wanted[place][1])
        left = [place for place in left if replies[place].status >= 300]
    return [(name, replies[place]) for place, (name, _body) in enumerate(wanted)]


async def apply(garden: GardenerApi, body: Draft) -> Reply:
    reply = await garden.write(body, dry_run=False)
    if reply.status != 409:
        return reply
    stored = await garden.get(f"{path_of(body)}/{body['metadata']['name']}")
    version = stored["metadata"]["resourceVersion"]
    newer = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
    reply = await garden.write(newer, is_new=False, dry_run=False)
    if reply.status < 300:
        return reply
    # Several examples have the same name and are alternatives.
    other = f"{body['metadata']['name']}-2"
    return await garden.write({**body, "metadata": {**body["metadata"], "name": other}})


def is_of_gardens(body: Draft) -> bool:
    """Leave out objects that belong into seeds, and webhooks without a server."""
    kind = find_kind(body["apiVersion"], body["kind"])
    if kind is None or "metadata" not in body:
        return False
    return kind.group in GROUPS or kind.name in ("Namespace", "Secret", "ConfigMap")


def departures(recorded: RecordedReplies) -> Iterator[Departure]:
    """Compare the verdicts on every request except internal errors."""
    alike = EspalierPolicies(recorded.objects, ALIKE)
    for case, reply in recorded.answers:
        if not reply.is_verdict:
            continue
        theirs, mine = reply.verdict, alike.decide(case)
        if theirs.refused:
            named = theirs.fields or (set() if mine.refused else {case.field})
            for field in named - mine.fields:
                messages = theirs.messages.get(field, (theirs.text,))
                yield Departure("Gardener", field, case, messages, mine)
        elif mine.refused:
            for field, messages in mine.messages.items():
                yield Departure("Espalier", field, case, messages, mine)


@pytest.fixture(scope="module")
def compared(recorded: RecordedReplies) -> Sequence[Departure]:
    return [*departures(recorded)]


def test_gardener_was_asked_often_enough_and_gave_verdicts(recorded: RecordedReplies) -> None:
    compared_cases = [case for case, reply in recorded.answers if reply.is_verdict]
    assert len(compared_cases) >= FEWEST
    assert {case.kind for case in compared_cases} == {
        "Shoot",
        "Seed",
        "ManagedSeed",
        "ManagedSeedSet",
    }
    assert len(compared_cases) > 0.95 * len(recorded.answers)
    refused = sum(reply.verdict.refused for _, reply in recorded.answers)
    assert 0.2 < refused / len(compared_cases) < 0.8


def test_every_verdict_and_field_is_gardeners_but_for_a_closed_list(
    compared: Sequence[Departure],
) -> None:
    found = [
        (departure.who, departure.case.title, departure.field, *departure.messages)
        for departure in compared
        if not any(difference.explains(departure) for difference in DIFFERENCES)
    ]
    assert found == []


def test_no_difference_hides_another(compared: Sequence[Departure]) -> None:
    found = [
        (departure.case.title, departure.field, names)
        for departure in compared
        if len(names := [each.name for each in DIFFERENCES if each.explains(departure)]) > 1
    ]
    assert found == []


def test_every_shape_on_the_closed_list_occurs(compared: Sequence[Departure]) -> None:
    idle = [
        (difference.name, shape.fields)
        for difference in DIFFERENCES
        for shape in difference.shapes
        if not any(each.who == difference.who and shape.fits(each) for each in compared)
    ]
    assert idle == []


def test_beside_a_gardener_only_documents_refuse_what_it_accepts(recorded: RecordedReplies) -> None:
    gardener = EspalierPolicies(recorded.objects, BESIDE)
    found = [
        (case.title, finding)
        for case, reply in recorded.answers
        if reply.status < 300
        for finding in gardener.findings(as_stored(case, reply))
        if finding.fatal
    ]
    unasked = [each for each in found if not is_required(each[1].policy, each[1].field)]
    assert unasked == []
    assert {finding.policy for _, finding in found} == {policy for policy, _ in DOCUMENTED}


def as_stored(case: Case, reply: Reply) -> Case:
    """Return the same request about the object as Gardener would store it."""
    return case if case.is_deletion else replace(case, new=reply.body)


DOCUMENTED = (
    ("shoot.workers", r"spec\.provider\.workers\[\d+\]\.maximum"),
    ("shoot.ha", r"metadata\.annotations\[.*\](\..*)?"),
    ("shoot.ha", r"spec\.controlPlane\.highAvailability\.failureTolerance\.type"),
    ("shoot.placement", r"spec\.seedName"),
    ("shoot.sizing", r"metadata\.annotations\[.*\]"),
    ("seed.zones", r"(spec\.gardenlet\.config\.seedConfig\.)?metadata\.labels\[.*multi-zonal\]"),
    ("seed.zones", r"(spec\.gardenlet\.config\.seedConfig\.)?spec\.provider\.zones"),
    ("managedseedset.rules", r"metadata\.(name|annotations\[.*\])"),
    ("managedseedset.rules", r"spec\.shootTemplate\.metadata\.annotations\[.*\](\..*)?"),
    ("managedseedset.rules", r"spec\.shootTemplate\.spec\.provider\.workers\[\d+\]\.maximum"),
    (
        "managedseedset.rules",
        r"spec\.shootTemplate\.spec\.controlPlane\.highAvailability\.failureTolerance\.type",
    ),
    ("managedseedset.rules", r"spec\.template\..*\.seedConfig\.metadata\.labels\[.*multi-zonal\]"),
    ("managedseedset.rules", r"spec\.template\..*\.seedConfig\.spec\.provider\.zones"),
)
"""Rules of documents 000, 002 and 003 that Gardener lacks, as docs/gardener.md lists them."""


def is_required(policy: str, field: str) -> bool:
    return any(policy == name and re.fullmatch(rule, field) for name, rule in DOCUMENTED)


def test_every_example_that_gardener_accepts_we_accept(recorded: RecordedReplies) -> None:
    accepted = [(name, reply.body) for name, reply in recorded.examples if reply.status < 300]
    around = EspalierPolicies([*recorded.objects, *(body for _, body in accepted)], BESIDE)
    found = [
        (name, verdict.text)
        for name, body in accepted
        if (verdict := around.decide(Case(name, "", "", body))).refused
    ]
    assert found == []
    assert sorted(name for name, _ in accepted) == ACCEPTED
