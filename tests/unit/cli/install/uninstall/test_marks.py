from typing import Any

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api import names
from webhook.cli.install.layout import labels
from webhook.cli.install.uninstall.marks import Marks, find_marks, pending_shoots, removal_patch
from webhook.cluster import gardener_marker
from webhook.kube import patches


def managed(manager: str, **fields: Any) -> dict[str, Any]:
    return {"manager": manager, "fieldsV1": {"f:metadata": fields}}


OBJECT: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "resourceVersion": "7",
        "labels": {"app": "x", "controller-revision-hash": "h"},
        "annotations": {names.PAUSED: "true", names.NEXT_REPLICA_NUMBER: "3", "note": "mine"},
        "finalizers": ["gardener", names.FINALIZER, "other/finalizer"],
        "managedFields": [
            managed(
                "espalier-managedseedset",
                **{
                    "f:labels": {"f:controller-revision-hash": {}},
                    "f:annotations": {".": {}, f"f:{names.NEXT_REPLICA_NUMBER}": {}},
                    "f:finalizers": {".": {}, 'v:"gardener"': {}},
                },
            ),
            managed("kubectl", **{"f:annotations": {f"f:{names.PAUSED}": {}, "f:note": {}}}),
        ],
    }
}


def test_our_marks_are_removed_and_those_of_users_kept():
    assert find_marks(OBJECT) == Marks(
        labels=("controller-revision-hash",),
        annotations=(names.NEXT_REPLICA_NUMBER,),
        finalizers=("gardener", names.FINALIZER),
        kept=(names.PAUSED,),
    )


def test_the_patch_removes_exactly_the_marks():
    patched = patches.merge(OBJECT, removal_patch(OBJECT, find_marks(OBJECT)))
    assert patched["metadata"]["labels"] == {"app": "x"}
    assert patched["metadata"]["annotations"] == {names.PAUSED: "true", "note": "mine"}
    assert patched["metadata"]["finalizers"] == ["other/finalizer"]


def test_the_patch_conflicts_if_the_object_has_changed():
    assert removal_patch(OBJECT, find_marks(OBJECT))["metadata"]["resourceVersion"] == "7"


def test_a_foreign_object_has_no_marks():
    raw = {"metadata": {"name": "a", "labels": {"app": "x"}, "finalizers": ["gardener"]}}
    assert not find_marks(raw)
    assert find_marks(raw).kept == ()


def test_our_finalizer_is_ours_without_managed_fields():
    found = find_marks({"metadata": {"finalizers": [names.SCHEDULED_SCALING_FINALIZER]}})
    assert found.finalizers == (names.SCHEDULED_SCALING_FINALIZER,)


def test_annotations_can_be_ours_whatever_the_manager():
    always_ours = frozenset({names.POOL_MINIMUM})
    annotations = {names.POOL_MINIMUM: "1", names.PAUSED: "true"}
    raw = {"metadata": {"annotations": annotations, "managedFields": []}}
    assert find_marks(raw, always_ours) == Marks((), (names.POOL_MINIMUM,), (), (names.PAUSED,))
    assert find_marks(raw) == Marks((), (), (), (names.POOL_MINIMUM, names.PAUSED))


def test_machines_that_are_chosen_for_deletion_stay_chosen():
    fields: dict[str, Any] = {
        f"f:{name}": {} for name in (names.TRIGGER_DELETION, names.LAST_SCALED)
    }
    annotations = {names.TRIGGER_DELETION: "m~now", names.LAST_SCALED: "now"}
    written = [managed("espalier", **{"f:annotations": fields})]
    raw = {"metadata": {"annotations": annotations, "managedFields": written}}
    assert find_marks(raw).annotations == (names.LAST_SCALED,)


def test_pending_shoots():
    def shoot(name: str, **spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "garden-dev"}, "spec": spec}

    shoots = [
        shoot("waiting", schedulerName="espalier"),
        shoot("placed", schedulerName="espalier", seedName="s"),
        shoot("foreign", schedulerName="default-scheduler"),
        shoot("bare"),
        shoot(
            "self-hosted", schedulerName="espalier", provider={"workers": [{"controlPlane": {}}]}
        ),
    ]
    assert list(pending_shoots(shoots)) == ["garden-dev/waiting"]


async def test_the_gardener_marker_has_the_labels_of_the_installation():
    cluster = FakeCluster(FakeClock())
    await gardener_marker.write_marker(cluster, "garden")  # type: ignore[arg-type]
    [marker] = cluster.objects.values()
    assert labels().items() <= marker["metadata"]["labels"].items()
