"""Rolling updates: revisions, limits, partition, and which replica is next."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.landscapes import read
from tests.sets import LABELS, make_set
from tests.unit.domain.test_replicas import make_managed_seed, make_owner, make_shoot, ready_seed
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain import rollout
from webhook.domain.health import NOBODY, Hosted
from webhook.domain.replicas import Replica
from webhook.domain.rollout import Settings, Update, Wait, allows, next_step

NEW, OTHER, OLD = "leaf-new", "leaf-other", "leaf-old"
REGISTERED = {"conditions": [{"type": "SeedRegistered", "status": "True"}]}
DONE = {"lastOperation": {"type": "Reconcile", "state": "Succeeded"}}


def make_replica(
    ordinal: int,
    *,
    updated: bool = False,
    well: bool = True,
    hosted: Hosted = NOBODY,
    at: str = "",
) -> Replica:
    name = f"leaf-{ordinal}"
    labels = {**LABELS, names.SHOOT_STATUS: "healthy" if well else "unhealthy"}
    recorded = NEW if updated else at
    revision = {names.CONTROLLER_REVISION_HASH: recorded} if recorded else {}
    shoot = make_shoot(name, labels={**labels, **revision}, status=DONE)
    managed_seed = make_managed_seed(name, labels={**LABELS, **revision}, status=REGISTERED)
    return Replica(name, ordinal, shoot, managed_seed, ready_seed(), hosted)


def said(step: Any) -> Any:
    match step:
        case Update(replica):
            return replica.ordinal
        case Wait(replica, reason):
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
            [make_replica(0), make_replica(1, well=False)], {}, 1, id="a sick one may be mended"
        ),
        pytest.param(
            [make_replica(0), make_replica(1, updated=True, hosted=Hosted(10, 8))],
            {},
            (1, "HostedShootsUnready"),
            id="too many hosted shoots unready",
        ),
        pytest.param(
            [make_replica(0), make_replica(1, updated=True, hosted=Hosted(10, 9))],
            {},
            0,
            id="as many unready as allowed",
        ),
        pytest.param(
            [make_replica(0, hosted=Hosted(2, 0))],
            {},
            (0, "HostedShootsUnready"),
            id="a seed in trouble is no place for an update",
        ),
        pytest.param(
            [make_replica(0, hosted=Hosted(2, 0))], {"limit": "100%"}, 0, id="unless told to"
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
    assert said(next_step(replicas, NEW, Settings(**settings))) == expected


CROWDED = Hosted(2, 0)
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
            id="one that has not got over an earlier change goes first",
        ),
        pytest.param(
            [make_replica(0, at=OLD), make_replica(1, at=OTHER), make_replica(2, at=OTHER)],
            OLD,
            {},
            2,
            id="one that has waits for its turn",
        ),
        pytest.param(
            [make_replica(0, at=OLD, well=False), make_replica(2, at=OLD)],
            OLD,
            {},
            2,
            id="so does one whose trouble is its own",
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
            id="an undo mends what is broken first",
        ),
        pytest.param(
            [make_replica(1, at=OTHER, hosted=CROWDED), make_replica(2, at=OTHER)],
            OLD,
            {},
            1,
            id="whatever the shoots say that the change has troubled",
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
    assert said(next_step(replicas, NEW, Settings(**settings), current)) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        *(pytest.param(reason, False, id=reason) for reason in rollout.RESTING),
        *(
            pytest.param(reason, True, id=reason)
            for reason in ("Updating", "ShootReconciling", "MaintenanceWindow", "TemplateRefused")
        ),
        pytest.param("", False, id="nothing told yet"),
    ],
)
def test_whether_a_rollout_is_under_way(reason: str, expected: bool) -> None:
    told = [{"type": names.PROGRESSING, "status": "True", "reason": reason}] if reason else []
    owner = read(ManagedSeedSet, make_set() | {"status": {"conditions": told}})
    assert rollout.is_under_way(owner) is expected


@pytest.mark.parametrize(
    ("limit", "hosted", "allowed"),
    [
        pytest.param("10%", Hosted(0, 0), True, id="nobody there"),
        pytest.param("10%", Hosted(10, 9), True, id="exactly ten percent"),
        pytest.param("10%", Hosted(19, 17), False, id="a little more"),
        pytest.param("0%", Hosted(100, 99), False, id="none allowed"),
        pytest.param(2, Hosted(3, 1), True, id="a number"),
        pytest.param(2, Hosted(100, 97), False, id="more than the number"),
        pytest.param("few", Hosted(2, 1), False, id="what cannot be read allows nothing"),
        pytest.param("few", Hosted(2, 2), True, id="and stops nothing that is well"),
    ],
)
def test_the_limit_of_unready_shoots(limit: int | str, hosted: Hosted, allowed: bool) -> None:
    assert allows(limit, hosted) is allowed


def test_settings_come_from_fields_or_their_twins() -> None:
    assert rollout.settings_of(make_owner()) == Settings()
    spec: dict[str, Any] = {
        "paused": True,
        "maxParallel": 4,
        "revisionHistoryLimit": 0,
        "updateStrategy": {"rollingUpdate": {"partition": 2, "maxUnreadyShoots": 3}},
    }
    wanted = Settings(partition=2, limit=3, paused=True, max_parallel=4, history=0)
    assert rollout.settings_of(read(ManagedSeedSet, make_set(**spec))) == wanted
    twins = {
        names.PAUSED: "true",
        names.MAX_PARALLEL: "4",
        names.MAX_UNREADY_SHOOTS: "25%",
    }
    wanted = Settings(limit="25%", paused=True, max_parallel=4)
    assert rollout.settings_of(make_owner(annotations=twins)) == wanted


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param("0", 0, id="none may be unready"),
        pytest.param("0%", "0%", id="no part of them"),
        pytest.param("7", 7, id="a number"),
        pytest.param("25%", "25%", id="a part"),
        pytest.param(None, "10%", id="nothing said"),
    ],
)
def test_the_limit_comes_from_its_annotation(text: str | None, limit: int | str) -> None:
    notes = {names.MAX_UNREADY_SHOOTS: text} if text is not None else {}
    assert rollout.settings_of(make_owner(annotations=notes)).limit == limit


def test_new_replicas_take_the_revision_that_their_ordinal_calls_for() -> None:
    settings = Settings(partition=2)
    assert rollout.wanted_revision(1, settings, "old", "new") == "old"
    assert rollout.wanted_revision(2, settings, "old", "new") == "new"
    assert rollout.wanted_revision(2, Settings(paused=True), "old", "new") == "old"


def test_revisions_are_named_after_their_content() -> None:
    one, other = {"spec": {"template": {"a": 1, "b": 2}}}, {"spec": {"template": {"b": 2, "a": 1}}}
    assert rollout.revision_name("leaf", one) == rollout.revision_name("leaf", other)
    assert rollout.revision_name("leaf", one) != rollout.revision_name("leaf", {})
    assert rollout.revision_name("leaf", one) != rollout.revision_name("leaf", one, 1)
    assert len(rollout.revision_name("x" * 80, one)) == 63


def test_a_replicas_name_is_filled_into_its_domains_only() -> None:
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
    filled = rollout.fill_in(template, "leaf-3")["spec"]
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
            hosted=st.builds(Hosted, st.just(4), st.integers(0, 4)),
        ),
        max_size=6,
        unique_by=lambda replica: replica.ordinal,
    ),
    st.integers(0, 20),
)
def test_no_update_starts_below_the_partition_or_while_an_updated_replica_is_not_well(
    replicas: list[Replica], partition: int
) -> None:
    settings = Settings(partition=partition)
    step = next_step(replicas, NEW, settings)
    if not isinstance(step, Update):
        return
    assert step.replica.ordinal >= partition
    assert not step.replica.is_at(NEW)
    concerned = [each for each in replicas if each.ordinal >= partition]
    assert all(rollout.trouble_of(each, settings) is None for each in concerned if each.is_at(NEW))
    behind = [each.ordinal for each in concerned if not each.is_at(NEW)]
    assert step.replica.ordinal == max(behind)
