"""Rolling updates: revisions, limits, partition, and which replica is next."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.landscape_objects import read
from tests.support.replica_objects import (
    make_managed_seed,
    make_owner,
    make_shoot,
    ready_seed,
)
from tests.support.set_objects import LABELS, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.seeds.shoot_counts import NO_HOSTED_SHOOTS, HostedShoots
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import Replica
from webhook.domain.sets.rollout import (
    RolloutSettings,
    UpdateReplica,
    WaitForReplica,
    is_within_limit,
    next_step,
)

NEW, OTHER, OLD = "leaf-new", "leaf-other", "leaf-old"
REGISTERED = {"conditions": [{"type": "SeedRegistered", "status": "True"}]}
DONE = {"lastOperation": {"type": "Reconcile", "state": "Succeeded"}}


def make_replica(
    ordinal: int,
    *,
    updated: bool = False,
    well: bool = True,
    hosted: HostedShoots = NO_HOSTED_SHOOTS,
    at: str = "",
) -> Replica:
    name = f"leaf-{ordinal}"
    labels = {**LABELS, names.SHOOT_STATUS: "healthy" if well else "unhealthy"}
    recorded = NEW if updated else at
    revision = {names.CONTROLLER_REVISION_HASH: recorded} if recorded else {}
    shoot = make_shoot(name, labels={**labels, **revision}, status=DONE)
    managed_seed = make_managed_seed(name, labels={**LABELS, **revision}, status=REGISTERED)
    return Replica(name, ordinal, shoot, managed_seed, ready_seed(), hosted)


def describe(step: Any) -> Any:
    match step:
        case UpdateReplica(replica):
            return replica.ordinal
        case WaitForReplica(replica, reason):
            return replica.ordinal, reason
        case _:
            return None


@pytest.mark.parametrize(
    ("replicas", "settings", "expected"),
    [
        pytest.param([make_replica(0), make_replica(2)], {}, 2, id="the largest ordinal first"),
        pytest.param(
            [make_replica(0), make_replica(2, updated=True)], {}, 0, id="then the next one"
        ),
        pytest.param([make_replica(0, updated=True)], {}, None, id="nothing left"),
        pytest.param(
            [make_replica(0), make_replica(1, updated=True, well=False)],
            {},
            (1, "ShootNotHealthy"),
            id="not before the updated one is well",
        ),
        pytest.param(
            [make_replica(0, updated=True, well=False), make_replica(1)],
            {},
            (0, "ShootNotHealthy"),
            id="wherever the updated one is",
        ),
        pytest.param(
            [make_replica(0), make_replica(1, well=False)],
            {},
            1,
            id="an unhealthy replica may be repaired by the update",
        ),
        pytest.param(
            [make_replica(0), make_replica(1, updated=True, hosted=HostedShoots(10, 8))],
            {},
            (1, "HostedShootsUnready"),
            id="too many hosted shoots unready",
        ),
        pytest.param(
            [make_replica(0), make_replica(1, updated=True, hosted=HostedShoots(10, 9))],
            {},
            0,
            id="as many unready as allowed",
        ),
        pytest.param(
            [make_replica(0, hosted=HostedShoots(2, 0))],
            {},
            (0, "HostedShootsUnready"),
            id="no update of a seed with unready shoots",
        ),
        pytest.param(
            [make_replica(0, hosted=HostedShoots(2, 0))],
            {"limit": "100%"},
            0,
            id="unless the limit allows it",
        ),
        pytest.param([make_replica(0), make_replica(1)], {"partition": 2}, None, id="partition"),
        pytest.param([make_replica(0), make_replica(2)], {"partition": 1}, 2, id="above it"),
        pytest.param(
            [make_replica(0, updated=True, well=False), make_replica(2)],
            {"partition": 1},
            2,
            id="what is below it does not count",
        ),
    ],
)
def test_the_next_step(replicas: list[Replica], settings: dict[str, Any], expected: Any) -> None:
    assert describe(next_step(replicas, NEW, RolloutSettings(**settings))) == expected


CROWDED = HostedShoots(2, 0)
MIXED = replace(make_replica(1, at=OTHER), managed_seed=make_replica(1, updated=True).managed_seed)


@pytest.mark.parametrize(
    ("replicas", "current", "settings", "expected"),
    [
        pytest.param(
            [
                make_replica(0, at=OLD),
                make_replica(1, at=OTHER, well=False),
                make_replica(2, at=OTHER),
            ],
            OLD,
            {},
            1,
            id="one that has not recovered from an earlier change is updated first",
        ),
        pytest.param(
            [make_replica(0, at=OLD), make_replica(1, at=OTHER), make_replica(2, at=OTHER)],
            OLD,
            {},
            2,
            id="one that has recovered is updated in order",
        ),
        pytest.param(
            [make_replica(0, at=OLD, well=False), make_replica(2, at=OLD)],
            OLD,
            {},
            2,
            id="one that failed without a change is updated in order",
        ),
        pytest.param(
            [
                make_replica(0, updated=True),
                make_replica(1, at=OTHER, well=False),
                make_replica(2, at=OTHER),
            ],
            NEW,
            {},
            1,
            id="an undo updates the broken replica first",
        ),
        pytest.param(
            [make_replica(1, at=OTHER, hosted=CROWDED), make_replica(2, at=OTHER)],
            OLD,
            {},
            1,
            id="whatever the state of the shoots that the change affected",
        ),
        pytest.param(
            [make_replica(1, at=OLD, hosted=CROWDED)],
            OLD,
            {},
            (1, "HostedShootsUnready"),
            id="not so before the first change",
        ),
        pytest.param(
            [make_replica(1, at=OTHER, well=False), make_replica(0, updated=True, well=False)],
            OLD,
            {},
            (0, "ShootNotHealthy"),
            id="one at a time, even then",
        ),
        pytest.param(
            [MIXED, make_replica(2, at=OTHER)], OLD, {}, 1, id="a replica of which one half is done"
        ),
        pytest.param(
            [make_replica(1, at=OTHER, well=False), make_replica(2, at=OLD)],
            OLD,
            {"paused": True},
            (1, "ShootNotHealthy"),
            id="a pause waits for what has begun",
        ),
        pytest.param(
            [make_replica(1, at=OTHER), make_replica(2, at=OLD, hosted=CROWDED)],
            OLD,
            {"paused": True},
            None,
            id="and begins with nothing",
        ),
    ],
)
def test_the_next_step_after_another_change(
    replicas: list[Replica], current: str, settings: dict[str, Any], expected: Any
) -> None:
    assert describe(next_step(replicas, NEW, RolloutSettings(**settings), current)) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        *(pytest.param(reason, False, id=reason) for reason in rollout.IDLE_REASONS),
        *(
            pytest.param(reason, True, id=reason)
            for reason in ("Updating", "ShootReconciling", "MaintenanceWindow", "TemplateRefused")
        ),
        pytest.param("", False, id="no condition yet"),
    ],
)
def test_is_progressing(reason: str, expected: bool) -> None:
    conditions = [{"type": names.PROGRESSING, "status": "True", "reason": reason}] if reason else []
    owner = read(ManagedSeedSet, make_set() | {"status": {"conditions": conditions}})
    assert rollout.is_progressing(owner) is expected


@pytest.mark.parametrize(
    ("limit", "hosted", "allowed"),
    [
        pytest.param("10%", HostedShoots(0, 0), True, id="nobody there"),
        pytest.param("10%", HostedShoots(10, 9), True, id="exactly ten percent"),
        pytest.param("10%", HostedShoots(19, 17), False, id="a little more"),
        pytest.param("0%", HostedShoots(100, 99), False, id="none allowed"),
        pytest.param(2, HostedShoots(3, 1), True, id="a number"),
        pytest.param(2, HostedShoots(100, 97), False, id="more than the number"),
        pytest.param("few", HostedShoots(2, 1), False, id="what cannot be read allows nothing"),
        pytest.param("few", HostedShoots(2, 2), True, id="and stops nothing that is well"),
    ],
)
def test_the_limit_of_unready_shoots(limit: int | str, hosted: HostedShoots, allowed: bool) -> None:
    assert is_within_limit(limit, hosted) is allowed


def test_settings_come_from_fields_or_annotations() -> None:
    assert rollout.settings_of(make_owner()) == RolloutSettings()
    spec: dict[str, Any] = {
        "paused": True,
        "maxParallel": 4,
        "revisionHistoryLimit": 0,
        "updateStrategy": {"rollingUpdate": {"partition": 2, "maxUnreadyShoots": 3}},
    }
    wanted = RolloutSettings(partition=2, limit=3, paused=True, max_parallel=4, history=0)
    assert rollout.settings_of(read(ManagedSeedSet, make_set(**spec))) == wanted
    twins = {
        names.PAUSED: "true",
        names.MAX_PARALLEL: "4",
        names.MAX_UNREADY_SHOOTS: "25%",
    }
    wanted = RolloutSettings(limit="25%", paused=True, max_parallel=4)
    assert rollout.settings_of(make_owner(annotations=twins)) == wanted


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param("0", 0, id="none may be unready"),
        pytest.param("0%", "0%", id="no part of them"),
        pytest.param("7", 7, id="a number"),
        pytest.param("25%", "25%", id="a part"),
        pytest.param(None, "10%", id="no annotation"),
    ],
)
def test_the_limit_comes_from_its_annotation(text: str | None, limit: int | str) -> None:
    annotations = {names.MAX_UNREADY_SHOOTS: text} if text is not None else {}
    assert rollout.settings_of(make_owner(annotations=annotations)).limit == limit


def test_the_revision_of_a_new_replica_depends_on_its_ordinal() -> None:
    settings = RolloutSettings(partition=2)
    assert rollout.wanted_revision(1, settings, "old", "new") == "old"
    assert rollout.wanted_revision(2, settings, "old", "new") == "new"
    assert rollout.wanted_revision(2, RolloutSettings(paused=True), "old", "new") == "old"


def test_revisions_are_named_after_their_content() -> None:
    one, other = {"spec": {"template": {"a": 1, "b": 2}}}, {"spec": {"template": {"b": 2, "a": 1}}}
    assert rollout.revision_name("leaf", one) == rollout.revision_name("leaf", other)
    assert rollout.revision_name("leaf", one) != rollout.revision_name("leaf", {})
    assert rollout.revision_name("leaf", one) != rollout.revision_name("leaf", one, 1)
    assert len(rollout.revision_name("x" * 80, one)) == 63


def test_a_replicas_name_is_rendered_into_its_domains_only() -> None:
    template = {
        "spec": {
            "dns": {"domain": "replica-name.example.org"},
            "region": "replica-name",
            "seedTemplate": {"spec": {"ingress": {"domain": "ingress.replica-name.org"}}},
            "gardenlet": {
                "config": {"seedConfig": {"spec": {"ingress": {"domain": "x.replica-name"}}}}
            },
        }
    }
    filled = rollout.render_template(template, "leaf-3")["spec"]
    assert filled["dns"]["domain"] == "leaf-3.example.org"
    assert filled["region"] == "replica-name"
    assert filled["seedTemplate"]["spec"]["ingress"]["domain"] == "ingress.leaf-3.org"
    seed = filled["gardenlet"]["config"]["seedConfig"]["spec"]
    assert seed["ingress"]["domain"] == "x.leaf-3"
    assert template["spec"]["dns"] == {"domain": "replica-name.example.org"}


@given(
    st.lists(
        st.builds(
            make_replica,
            st.integers(0, 20),
            updated=st.booleans(),
            well=st.booleans(),
            hosted=st.builds(HostedShoots, st.just(4), st.integers(0, 4)),
        ),
        max_size=6,
        unique_by=lambda replica: replica.ordinal,
    ),
    st.integers(0, 20),
)
def test_no_update_starts_below_the_partition_or_while_an_updated_replica_is_not_ready(
    replicas: list[Replica], partition: int
) -> None:
    settings = RolloutSettings(partition=partition)
    step = next_step(replicas, NEW, settings)
    if not isinstance(step, UpdateReplica):
        return
    assert step.replica.ordinal >= partition
    assert not step.replica.is_at(NEW)
    concerned = [each for each in replicas if each.ordinal >= partition]
    assert all(
        rollout.readiness_blocker(each, settings) is None for each in concerned if each.is_at(NEW)
    )
    behind = [each.ordinal for each in concerned if not each.is_at(NEW)]
    assert step.replica.ordinal == max(behind)
