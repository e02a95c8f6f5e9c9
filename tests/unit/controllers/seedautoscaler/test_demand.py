"""The pending shoots that a new seed of a set could host."""

from typing import Any

import pytest

from tests.support.landscape_objects import MULTI_ZONE, make_profile, make_seed, make_shoot, read
from tests.support.set_objects import make_pool, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.controllers.seedautoscaler import demand
from webhook.domain.options import CapacityOptions, Options
from webhook.kube.meta import Object
from webhook.state.snapshot import Snapshot

OPTIONS = Options(capacity=CapacityOptions(default=20))
HIDDEN = {"scheduling": {"visible": False}}
TAINT = {"key": "private"}
TOLERANT = {"tolerations": [{"key": "private"}]}
PICKY = {"seedSelector": {"matchLabels": {"tier": "gold"}}}
SELF_HOSTED: dict[str, Any] = {"pool": {"controlPlane": {}}}
ANOTHER_PROVIDER = {"seedSelector": {"providerTypes": ["gcp"]}}


def make_owner(seed: Any = None, shoot: Any = None, **metadata: Any) -> ManagedSeedSet:
    template = {"spec": {"seedTemplate": {"spec": seed or {}, "metadata": metadata}}}
    raw = make_set(template=template, shootTemplate={"spec": shoot or {}})
    return read(ManagedSeedSet, raw)


def count(*objects: Object, owner: ManagedSeedSet) -> int:
    snapshot = Snapshot.of([make_profile(), owner, *objects], options=OPTIONS)
    return demand.of_set(owner, snapshot).shoots


@pytest.mark.parametrize(
    ("shoot", "owner", "counts"),
    [
        pytest.param({}, make_owner(), True, id="one that fits"),
        pytest.param({"provider": "gcp"}, make_owner(), False, id="another provider"),
        pytest.param({"region": "us-east-1"}, make_owner(), False, id="another region"),
        pytest.param({}, make_owner({"taints": [TAINT]}), False, id="a taint of the template"),
        pytest.param(TOLERANT, make_owner({"taints": [TAINT]}), True, id="that it tolerates"),
        pytest.param({}, make_owner({"settings": HIDDEN}), False, id="invisible seeds"),
        pytest.param(PICKY, make_owner(), False, id="a selector of the shoot"),
        pytest.param(PICKY, make_owner(labels={"tier": "gold"}), True, id="that is matched"),
        pytest.param(ANOTHER_PROVIDER, make_owner(), False, id="a selector by provider"),
        pytest.param({"ha": MULTI_ZONE}, make_owner(), False, id="HA over zones on two of them"),
        pytest.param(
            {"ha": MULTI_ZONE},
            make_owner(shoot={"provider": {"workers": [make_pool("abc")]}}),
            True,
            id="HA over zones where the template's Shoot has three",
        ),
        pytest.param(
            {"ha": MULTI_ZONE},
            make_owner(
                {"provider": {"zones": ["a"]}},
                {"provider": {"workers": [make_pool("abc")]}},
                labels={names.MULTI_ZONAL: "false"},
            ),
            False,
            id="unless the label rules out a multi-zonal seed",
        ),
        pytest.param(SELF_HOSTED, make_owner(), False, id="one that needs no seed"),
        pytest.param(
            {"networking": {"pods": "242.1.0.0/16"}},
            make_owner(),
            False,
            id="networks in a reserved range",
        ),
    ],
)
def test_a_pending_shoot_counts_if_it_passes_every_filter_for_a_new_seed(
    shoot: dict[str, Any], owner: ManagedSeedSet, counts: bool
) -> None:
    assert count(make_shoot(**shoot), owner=owner) == int(counts)


def test_a_shoot_that_fits_an_existing_seed_is_no_demand() -> None:
    assert count(make_shoot(), make_seed("room"), owner=make_owner()) == 0
    assert count(make_shoot(), make_seed("full", shoots=0), owner=make_owner()) == 1


def test_shoots_of_another_scheduler_do_not_count() -> None:
    assert count(make_shoot(seed="somewhere"), owner=make_owner()) == 0
