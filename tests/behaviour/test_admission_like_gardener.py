"""Our admission beside Gardener's own: one field changed at a time, judged by both."""

import asyncio
import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
import pytest_asyncio

from tests.behaviour.bases import furnish, open_fresh_garden
from tests.behaviour.corners import furnish_corners
from tests.behaviour.differences import DIFFERENCES, Departure
from tests.behaviour.judges import ALIKE, BESIDE, Case, Garden, Landscape, Reply, path_of
from tests.behaviour.moves import furnish_moves
from tests.behaviour.shipped import ACCEPTED, TAKEN_FOR_GRANTED, examples
from tests.behaviour.variants import cases
from tests.planes import require_parts
from webhook.api.kinds import find_kind
from webhook.api.meta import Draft

pytestmark = pytest.mark.timeout(480)

FEWEST = 1_000
FIRST = int(os.environ.get("ESPALIER_SEED", "0"))
GROUPS = ("core.gardener.cloud", "seedmanagement.gardener.cloud", "security.gardener.cloud")


class Asked(NamedTuple):
    """What the garden held, what it was asked, and what it answered."""

    objects: list[Draft]
    answers: list[tuple[Case, Reply]]
    examples: list[tuple[str, Reply]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Put every request to a Gardener that has never met us, then its own examples."""
    require_parts("etcd", "kubernetes", "gardener")
    async with open_fresh_garden(tmp_path_factory.mktemp("alone")) as garden:
        bases = [
            *await furnish(garden),
            *await furnish_moves(garden),
            *await furnish_corners(garden),
        ]
        objects = await garden.everything()
        wanted = [*cases(bases, random.Random(FIRST))]
        replies = await asyncio.gather(*map(garden.dry_run, wanted))
        return Asked(objects, [*zip(wanted, replies, strict=True)], await apply_examples(garden))


async def apply_examples(garden: Garden) -> list[tuple[str, Reply]]:
    """Store what Gardener ships as examples, configuration first; much of it are sketches.

    Some need what comes after them: what is refused is sent again as long as that helps.
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


async def apply(garden: Garden, body: Draft) -> Reply:
    reply = await garden.write(body, dry_run=False)
    if reply.status != 409:
        return reply
    stored = await garden.get(f"{path_of(body)}/{body['metadata']['name']}")
    version = stored["metadata"]["resourceVersion"]
    newer = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
    reply = await garden.write(newer, is_new=False, dry_run=False)
    if reply.status < 300:
        return reply
    # Several examples have one name, and are alternatives.
    other = f"{body['metadata']['name']}-2"
    return await garden.write({**body, "metadata": {**body["metadata"], "name": other}})


def is_of_gardens(body: Draft) -> bool:
    """Leave out what belongs into seeds; some of it are webhooks, which nobody answers here."""
    kind = find_kind(body["apiVersion"], body["kind"])
    if kind is None or "metadata" not in body:
        return False
    return kind.group in GROUPS or kind.name in ("Namespace", "Secret", "ConfigMap")


def departures(asked: Asked) -> Iterator[Departure]:
    """Compare the verdicts on every request; a server that broke down has given none."""
    alike = Landscape(asked.objects, ALIKE)
    for case, reply in asked.answers:
        if not reply.is_verdict:
            continue
        theirs, mine = reply.verdict, alike.judge(case)
        if theirs.refused:
            named = theirs.fields or (set() if mine.refused else {case.field})
            for field in named - mine.fields:
                words = theirs.said.get(field, (theirs.text,))
                yield Departure("Gardener", field, case, words, mine)
        elif mine.refused:
            for field, words in mine.said.items():
                yield Departure("Espalier", field, case, words, mine)


@pytest.fixture(scope="module")
def compared(asked: Asked) -> Sequence[Departure]:
    return [*departures(asked)]


def test_gardener_was_asked_often_enough_and_gave_verdicts(asked: Asked) -> None:
    judged = [case for case, reply in asked.answers if reply.is_verdict]
    assert len(judged) >= FEWEST
    assert {case.kind for case in judged} == {"Shoot", "Seed", "ManagedSeed", "ManagedSeedSet"}
    assert len(judged) > 0.95 * len(asked.answers)
    refused = sum(reply.verdict.refused for _, reply in asked.answers)
    assert 0.2 < refused / len(judged) < 0.8


def test_every_verdict_and_field_is_gardeners_but_for_a_closed_list(
    compared: Sequence[Departure],
) -> None:
    found = [
        (departure.who, departure.case.title, departure.field, *departure.words)
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


def test_beside_a_gardener_only_documents_refuse_what_it_accepts(asked: Asked) -> None:
    beside = Landscape(asked.objects, BESIDE)
    found = [
        (case.title, finding)
        for case, reply in asked.answers
        if reply.status < 300
        for finding in beside.findings(as_stored(case, reply))
        if finding.fatal
    ]
    unasked = [each for each in found if not is_asked_for(each[1].policy, each[1].field)]
    assert unasked == []
    assert {finding.policy for _, finding in found} == {policy for policy, _ in DOCUMENTED}


def as_stored(case: Case, reply: Reply) -> Case:
    """Give the same request about the object as Gardener would keep it."""
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
"""What documents 000, 002 and 003 ask for and Gardener lacks, as docs/gardener.md lists it."""


def is_asked_for(policy: str, field: str) -> bool:
    return any(policy == name and re.fullmatch(rule, field) for name, rule in DOCUMENTED)


def test_every_example_that_gardener_accepts_we_accept(asked: Asked) -> None:
    accepted = [(name, reply.body) for name, reply in asked.examples if reply.status < 300]
    around = Landscape([*asked.objects, *(body for _, body in accepted)], BESIDE)
    found = [
        (name, verdict.text)
        for name, body in accepted
        if (verdict := around.judge(Case(name, "", "", body))).refused
    ]
    assert found == []
    assert sorted(name for name, _ in accepted) == ACCEPTED
