"""What a decision would take is taken at the edge, and the answer is what was got."""

import base64
import json
from typing import Any

from tests.unit.server.conftest import Bench, review
from tests.unit.server.test_admission import Connect, ask
from webhook.admission.decision import Grant, Request
from webhook.admission.policy import Policy
from webhook.api.shoots import Shoot
from webhook.domain.pools.discovery import PoolKey
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot

POOL = PoolKey("shoot--dev--one", "mcm:key", "pool")


class FakeGranter:
    """Grants a fixed size and records the requests."""

    def __init__(self, gives: int) -> None:
        self.gives = gives
        self.asked: list[tuple[int, bool]] = []

    async def take(self, grant: Grant, *, dry_run: bool) -> int:
        self.asked.append((grant.size, dry_run))
        return self.gives


def wanting(size: int) -> Policy:
    def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Grant:
        draft["metadata"]["labels"] = {"seen": "yes"}
        return Grant(POOL, "zone", "uid", 1, size)

    return Policy(
        name="shoot.test", models=(Shoot,), operations=("CREATE",), mutate=mutate, why="a test"
    )


def patch_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    decoded: list[dict[str, Any]] = json.loads(base64.b64decode(answer["patch"]))
    return decoded


SEEN = "/metadata/labels"
SIZE = "/spec/replicas"


async def test_a_full_grant_is_not_patched(bench: Bench, connect: Connect) -> None:
    bench.policies = (wanting(3),)
    bench.granter = granter = FakeGranter(3)
    answer = await ask(await connect(bench), review(), "/mutate")
    assert answer["allowed"] is True
    assert [each["path"] for each in patch_of(answer)] == [SEEN]
    assert granter.asked == [(3, False)]


async def test_a_partial_grant_is_patched(bench: Bench, connect: Connect) -> None:
    bench.policies = (wanting(3),)
    bench.granter = FakeGranter(2)
    answer = await ask(await connect(bench), review(), "/mutate")
    assert answer["allowed"] is True
    assert patch_of(answer)[-1] == {"op": "add", "path": SIZE, "value": 2}
    assert answer["auditAnnotations"] == {"shoot.test": "mutate"}


async def test_dry_run_is_passed_to_the_granter(bench: Bench, connect: Connect) -> None:
    bench.policies = (wanting(3),)
    bench.granter = granter = FakeGranter(3)
    asked = review()
    asked["request"]["dryRun"] = True
    await ask(await connect(bench), asked, "/mutate")
    assert granter.asked == [(3, True)]


async def test_without_a_granter_the_size_does_not_change(bench: Bench, connect: Connect) -> None:
    bench.policies = (wanting(3),)
    answer = await ask(await connect(bench), review(), "/mutate")
    assert answer["allowed"] is True
    assert patch_of(answer)[-1] == {"op": "add", "path": SIZE, "value": 1}
