"""Cordons that no SeedAutoscaler holds are removed, whoever left them behind."""

import pytest

from tests.support.landscape_objects import raw_seed, read
from tests.support.set_objects import make_autoscaler
from webhook.api import names
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler import cordon
from webhook.controllers.seedautoscaler.plan import plan
from webhook.runtime.actions import Patch
from webhook.state.snapshot import Snapshot

THEIRS = {"key": "theirs", "value": "x"}
OURS = {"key": names.CORDON_TAINT}


@pytest.mark.parametrize(
    ("taints", "holder", "is_released"),
    [
        pytest.param([THEIRS, OURS], "garden/gone", True, id="of an autoscaler that is gone"),
        pytest.param([THEIRS, OURS], None, True, id="of a version that recorded no holder"),
        pytest.param([THEIRS], "garden/gone", True, id="whose taint a template has removed"),
        pytest.param([THEIRS], None, False, id="nothing of ours is there"),
    ],
)
def test_a_cordon_without_its_autoscaler_is_removed(
    taints: list[dict[str, str]], holder: str | None, is_released: bool
) -> None:
    raw = raw_seed("leaf")
    raw["spec"]["taints"] = taints
    raw["metadata"]["annotations"] = {names.CORDONED_BY: holder} if holder else {}
    seed = read(Seed, raw)
    actions = cordon.plan_release(seed, Snapshot.of([seed])).actions
    changes = [each.change for each in actions if isinstance(each, Patch)]
    released = {
        "metadata": {"annotations": {names.CORDONED_BY: None}},
        "spec": {"taints": [THEIRS]},
    }
    assert changes == ([released] if is_released else [])


def test_a_deleted_autoscaler_releases_its_seeds_before_it_is_gone() -> None:
    raw = make_autoscaler("leaf")
    finalizers = ["theirs/finalizer", names.FINALIZER]
    raw["metadata"] |= {"deletionTimestamp": "2026-03-01T12:00:00Z", "finalizers": finalizers}
    autoscaler = read(SeedAutoscaler, raw)
    seeds = []
    for name, holder in (("ours", str(autoscaler.key)), ("of-another", "garden/other")):
        draft = raw_seed(name)
        draft["spec"]["taints"] = [OURS]
        draft["metadata"]["annotations"] = {names.CORDONED_BY: holder}
        seeds.append(read(Seed, draft))
    actions = plan(autoscaler, Snapshot.of([autoscaler, *seeds])).actions
    released, last = (each for each in actions if isinstance(each, Patch))
    assert released.key.name == "ours"
    assert last.change == {"metadata": {"finalizers": ["theirs/finalizer"]}}
