from typing import Any

from webhook.api import names, patches
from webhook.cli.install.layout import labels
from webhook.cli.install.leaving import Traces, removal, traces, waiting_for_us
from webhook.cluster import remembrance


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


def test_what_we_wrote_goes_and_what_users_wrote_is_listed():
    assert traces(OBJECT) == Traces(
        labels=("controller-revision-hash",),
        annotations=(names.NEXT_REPLICA_NUMBER,),
        finalizers=("gardener", names.FINALIZER),
        kept=(names.PAUSED,),
    )


def test_the_patch_takes_off_exactly_that():
    patched = patches.merge(OBJECT, removal(OBJECT, traces(OBJECT)))
    assert patched["metadata"]["labels"] == {"app": "x"}
    assert patched["metadata"]["annotations"] == {names.PAUSED: "true", "note": "mine"}
    assert patched["metadata"]["finalizers"] == ["other/finalizer"]


def test_the_patch_is_refused_if_the_object_changed_meanwhile():
    assert removal(OBJECT, traces(OBJECT))["metadata"]["resourceVersion"] == "7"


def test_an_object_that_never_met_us_has_no_traces():
    raw = {"metadata": {"name": "a", "labels": {"app": "x"}, "finalizers": ["gardener"]}}
    assert not traces(raw)
    assert traces(raw).kept == ()


def test_our_finalizer_goes_even_without_a_record():
    found = traces({"metadata": {"finalizers": [names.SCHEDULED_SCALING_FINALIZER]}})
    assert found.finalizers == (names.SCHEDULED_SCALING_FINALIZER,)


def test_notes_go_whoever_is_recorded_and_only_where_they_are_notes():
    notes = frozenset({names.POOL_MINIMUM})
    annotations = {names.POOL_MINIMUM: "1", names.PAUSED: "true"}
    raw = {"metadata": {"annotations": annotations, "managedFields": []}}
    assert traces(raw, notes) == Traces((), (names.POOL_MINIMUM,), (), (names.PAUSED,))
    assert traces(raw) == Traces((), (), (), (names.POOL_MINIMUM, names.PAUSED))


def test_machines_that_were_chosen_to_go_stay_chosen():
    fields: dict[str, Any] = {
        f"f:{name}": {} for name in (names.TRIGGER_DELETION, names.LAST_SCALED)
    }
    annotations = {names.TRIGGER_DELETION: "m~now", names.LAST_SCALED: "now"}
    written = [managed("espalier", **{"f:annotations": fields})]
    raw = {"metadata": {"annotations": annotations, "managedFields": written}}
    assert traces(raw).annotations == (names.LAST_SCALED,)


def test_shoots_that_nobody_would_place_any_more():
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
    assert list(waiting_for_us(shoots)) == ["garden-dev/waiting"]


async def test_what_was_noted_about_a_gardener_goes_with_the_installation():
    written: list[Any] = []

    class Api:
        async def create(self, kind: Any, key: Any, draft: Any) -> None:
            written.append(draft)

    await remembrance.keep(Api(), "garden")  # type: ignore[arg-type]
    assert labels().items() <= written[0]["metadata"]["labels"].items()
