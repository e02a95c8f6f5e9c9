"""What is given back when Espalier leaves in the middle of a window."""

from tests.support.fake_scaling_cluster import (
    FakeScalingCluster,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import Tortoise
from webhook.cli.install.uninstall.restoration import restore_patches
from webhook.kube import patches

POLICY = {"containerName": "app", "minAllocatedResources": {"memory": "1Gi"}}


def test_raised_values_are_restored_and_annotations_removed() -> None:
    tortoise, autoscaler = make_tortoise(resourcePolicy=[POLICY]), make_autoscaler()
    cluster = FakeScalingCluster(tortoise, autoscaler, make_scaling()).at(2).reconcile()
    for model, found, before in (
        (Tortoise, cluster.tortoise, tortoise),
        (HorizontalPodAutoscaler, cluster.autoscaler, autoscaler),
    ):
        left = found
        for change in restore_patches(model, found):
            left = patches.merge(left, change.body)
        assert left["spec"] == before["spec"]
        assert left["status"] == before["status"]
        assert not left["metadata"].get("annotations")
        assert [*restore_patches(model, left)] == []


def test_a_value_that_a_user_changed_stays() -> None:
    cluster = (
        FakeScalingCluster(make_tortoise(), make_autoscaler(), make_scaling()).at(2).reconcile()
    )
    found = cluster.autoscaler
    found["spec"]["minReplicas"] = 60
    (change,) = restore_patches(HorizontalPodAutoscaler, found)
    assert change.body["spec"] == {"maxReplicas": 20}


def test_objects_without_raised_values_are_not_patched() -> None:
    tortoise, autoscaler = make_tortoise(resourcePolicy=[POLICY]), make_autoscaler()
    assert [
        *restore_patches(Tortoise, tortoise),
        *restore_patches(HorizontalPodAutoscaler, autoscaler),
    ] == []
