"""Scale-in: the order of removal, and the replicas that cannot be removed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.replica_objects import make_managed_seed, make_shoot, ready_seed
from tests.support.set_objects import LABELS
from webhook.api import names
from webhook.domain.sets.replicas import Replica
from webhook.domain.sets.scale_in import choose, describe_blocked, removal_blocker

READY = {"conditions": [{"type": "SeedRegistered", "status": "True"}]}
WELL = {**LABELS, names.SHOOT_STATUS: "healthy"}


def make_replica(
    ordinal: int,
    *,
    priority: str = "",
    ready: bool = True,
    created: str = "2026-01-01T00:00:00Z",
    users: int = 0,
    protected: bool = False,
) -> Replica:
    annotations = {names.DELETION_PRIORITY: priority} if priority else {}
    if protected:
        annotations[names.PROTECT_FROM_DELETION] = "true"
    name = f"leaf-{ordinal}"
    shoot = make_shoot(name, labels=WELL if ready else LABELS, creationTimestamp=created)
    managed_seed = make_managed_seed(name, annotations=annotations, status=READY)
    return Replica(name, ordinal, shoot, managed_seed, ready_seed(), users=users)


@pytest.mark.parametrize(
    ("replicas", "order"),
    [
        pytest.param(
            [make_replica(0), make_replica(1, priority="2"), make_replica(2, priority="4")],
            [1, 0, 2],
            id="lower priority first, 3 if none is given",
        ),
        pytest.param(
            [make_replica(0), make_replica(1, ready=False)], [1, 0], id="not ready before ready"
        ),
        pytest.param(
            [make_replica(0, priority="2"), make_replica(1, ready=False)],
            [0, 1],
            id="priority counts more than readiness",
        ),
        pytest.param(
            [make_replica(0, created="2026-01-02T00:00:00Z"), make_replica(1)],
            [1, 0],
            id="older before newer",
        ),
        pytest.param([make_replica(1), make_replica(0)], [0, 1], id="of equals the lower ordinal"),
        pytest.param(
            [make_replica(0, users=1), make_replica(1, protected=True), make_replica(2)],
            [2],
            id="neither used nor protected ones",
        ),
    ],
)
def test_the_order_of_removal(replicas: list[Replica], order: list[int]) -> None:
    chosen = choose(replicas, len(replicas)).chosen
    assert [replica.ordinal for replica in chosen] == order


def test_blocked_replicas_are_listed_only_if_too_few_can_be_removed() -> None:
    replicas = [make_replica(0, users=2), make_replica(1)]
    assert choose(replicas, 1).blocked == ()
    blocked = choose(replicas, 2).blocked
    assert describe_blocked(blocked) == "leaf-0 (used by 2 shoots)"


def test_a_seed_without_a_managed_seed_blocks_the_removal_of_its_shoot() -> None:
    replica = replace(make_replica(0), managed_seed=None)
    assert removal_blocker(replica) == "its Seed has no ManagedSeed"


@given(
    st.lists(
        st.builds(
            make_replica,
            st.integers(0, 50),
            priority=st.sampled_from(["", "1", "5"]),
            ready=st.booleans(),
            users=st.integers(0, 2),
            protected=st.booleans(),
        ),
        max_size=6,
        unique_by=lambda replica: replica.ordinal,
    ),
    st.integers(0, 8),
)
def test_no_used_or_protected_replica_is_ever_chosen(replicas: list[Replica], surplus: int) -> None:
    choice = choose(replicas, surplus)
    assert len(choice.chosen) <= surplus
    assert not any(replica.users or replica.is_protected for replica in choice.chosen)
    kept = [
        each for each in replicas if each not in choice.chosen and removal_blocker(each) is None
    ]
    if len(choice.chosen) < surplus:
        assert kept == []
    assert all(each.priority <= other.priority for each in choice.chosen for other in kept)
