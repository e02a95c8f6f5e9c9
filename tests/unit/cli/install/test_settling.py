"""What is given back when Espalier leaves in the middle of a window."""

from tests.scalings import World, make_autoscaler, make_scaling, make_tortoise
from webhook.api import patches
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import Tortoise
from webhook.cli.install.settling import owed

POLICY = {"containerName": "app", "minAllocatedResources": {"memory": "1Gi"}}


def test_everything_raised_is_given_back_and_every_mark_goes() -> None:
    tortoise, autoscaler = make_tortoise(resourcePolicy=[POLICY]), make_autoscaler()
    world = World(tortoise, autoscaler, make_scaling()).at(2).reconcile()
    for model, found, before in (
        (Tortoise, world.tortoise, tortoise),
        (HorizontalPodAutoscaler, world.autoscaler, autoscaler),
    ):
        left = found
        for change in owed(model, found):
            left = patches.merge(left, change.body)
        assert left["spec"] == before["spec"]
        assert left["status"] == before["status"]
        assert not left["metadata"].get("annotations")
        assert [*owed(model, left)] == []


def test_what_a_user_changed_meanwhile_stays() -> None:
    world = World(make_tortoise(), make_autoscaler(), make_scaling()).at(2).reconcile()
    found = world.autoscaler
    found["spec"]["minReplicas"] = 60
    (change,) = owed(HorizontalPodAutoscaler, found)
    assert change.body["spec"] == {"maxReplicas": 20}


def test_what_owes_nothing_is_left_alone() -> None:
    tortoise, autoscaler = make_tortoise(resourcePolicy=[POLICY]), make_autoscaler()
    assert [*owed(Tortoise, tortoise), *owed(HorizontalPodAutoscaler, autoscaler)] == []
