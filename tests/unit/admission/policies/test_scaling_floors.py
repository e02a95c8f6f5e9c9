"""Floors of open windows on Tortoises and autoscalers come from the cache, never from the write."""

from typing import Any

import msgspec
import pytest

from tests.support.admission import decide, make_request
from tests.support.builders import make_object, merged
from webhook.admission.decision import UserInfo
from webhook.api import names
from webhook.domain.options import Options, ScalingOptions
from webhook.domain.scaling.floors import Floors
from webhook.kube import patches

US = UserInfo(username="system:serviceaccount:espalier-system:espalier")
OPTIONS = Options(user=US.username)
RECOMMENDERS = [{"name": "ScheduledScaling", "responsibleFor": ["Constraints"]}]


def _tortoise(**fields: Any) -> dict[str, Any]:
    spec = merged({"updateMode": "Auto"}, fields.pop("spec", {}))
    return make_object(
        "autoscaling.mercari.com/v1beta3", "Tortoise", "cute", "shop", spec=spec, **fields
    )


def _autoscaler(minimum: int = 3, maximum: int = 20, **fields: Any) -> dict[str, Any]:
    return make_object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "tortoise-hpa-cute",
        "shop",
        spec={"minReplicas": minimum, "maxReplicas": maximum},
        **fields,
    )


def _scaling(replicas: int | None = 50, memory: str = "5Gi", **spec: Any) -> dict[str, Any]:
    static: dict[str, Any] = {"minimumMinReplicas": replicas} if replicas else {}
    if memory:
        static["minAllocatedResources"] = [
            {"containerName": "app", "resources": {"memory": memory}}
        ]
    schedule = {"startAt": "2026-01-15T11:00:00Z", "finishAt": "2026-01-15T13:00:00Z"}
    return make_object(
        "autoscaling.mercari.com/v1alpha1",
        "ScheduledScaling",
        "campaign",
        "shop",
        spec={
            "targetRefs": {"tortoiseName": "cute"},
            "strategy": {"static": static},
            "schedule": schedule,
            **spec,
        },
    )


def _written(
    policy: str,
    new: dict[str, Any],
    old: dict[str, Any] | None,
    around: list[dict[str, Any]],
    **request: Any,
) -> dict[str, Any]:
    options = request.pop("options", OPTIONS)
    decision = decide("mutate", policy, make_request(new, old, **request), around, options)
    result: dict[str, Any] = patches.apply(new, decision.patch)
    return result


OPEN = _scaling()
CLOSED = _scaling(schedule={"startAt": "2026-01-15T13:00:00Z", "finishAt": "2026-01-15T14:00:00Z"})


def test_an_open_window_raises_the_policy_and_claims_the_constraints() -> None:
    stored = _written("tortoise.floors", _tortoise(), None, [OPEN])
    assert stored["spec"]["resourcePolicy"] == [
        {"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}
    ]
    assert stored["spec"]["recommenders"] == RECOMMENDERS


@pytest.mark.parametrize(
    "around",
    [
        pytest.param([], id="no schedule"),
        pytest.param([CLOSED], id="before its window"),
        pytest.param([_scaling(suspend=True)], id="suspended"),
        pytest.param([_scaling(targetRefs={"tortoiseName": "other"})], id="for another Tortoise"),
    ],
)
def test_without_an_open_window_a_tortoise_is_left_alone(around: list[dict[str, Any]]) -> None:
    assert _written("tortoise.floors", _tortoise(), None, around) == _tortoise()


def test_after_the_window_any_write_restores_the_policy() -> None:
    raised = _written("tortoise.floors", _tortoise(), None, [OPEN])
    assert _written("tortoise.floors", raised, raised, [CLOSED]) == _tortoise()


def test_applying_the_old_manifest_again_keeps_floor_and_note() -> None:
    raised = _written("tortoise.floors", _tortoise(), None, [OPEN])
    again = _written("tortoise.floors", _tortoise(), raised, [OPEN])
    assert again["spec"] == raised["spec"]
    assert _written("tortoise.floors", again, again, []) == _tortoise()


def test_an_unrelated_recommender_stays() -> None:
    theirs = {"name": "Other", "responsibleFor": ["Vertical"]}
    before = _tortoise(spec={"recommenders": [theirs]})
    raised = _written("tortoise.floors", before, None, [OPEN])
    assert raised["spec"]["recommenders"] == [theirs, *RECOMMENDERS]
    assert _written("tortoise.floors", raised, raised, []) == before


def test_switching_a_tortoise_off_restores_at_once_but_keeps_the_record() -> None:
    raised = _written("tortoise.floors", _tortoise(), None, [OPEN])
    off = merged(raised, {"spec": {"updateMode": "Off"}})
    stored = _written("tortoise.floors", off, raised, [OPEN])
    assert "resourcePolicy" not in stored["spec"]
    assert stored["spec"]["recommenders"] == RECOMMENDERS


def test_the_effect_can_be_left_to_tortoise() -> None:
    options = Options(scaling=ScalingOptions(effect="none"))
    stored = _written("tortoise.floors", _tortoise(), None, [OPEN], options=options)
    assert "resourcePolicy" not in stored["spec"]
    assert stored["spec"]["recommenders"] == RECOMMENDERS
    around = [_tortoise(), OPEN]
    untouched = _written("autoscaler.floors", _autoscaler(), None, around, options=options)
    assert untouched == _autoscaler()


def test_constraints_are_restored_in_an_update_of_the_whole_status() -> None:
    erased = _tortoise(status={"tortoisePhase": "Working", "recommendations": {}})
    stored = _written("tortoise.constraints", erased, erased, [OPEN], subresource="status")
    assert stored["status"]["recommendations"]["constraints"] == {
        "minimumMinReplicas": 50,
        "minAllocatedResources": [
            {"containerName": "app", "minAllocatedResources": {"memory": "5Gi"}}
        ],
    }
    assert _written("tortoise.constraints", stored, stored, [], subresource="status") == erased


def _slots(value: int) -> dict[str, Any]:
    slot = {"from": 9, "to": 10, "weekday": "Monday", "timezone": "Asia/Tokyo", "value": value}
    horizontal = {"minReplicas": [slot], "maxReplicas": [slot]}
    return {"recommendations": {"horizontal": horizontal}}


def _value(tortoise: dict[str, Any]) -> int:
    value: int = tortoise["status"]["recommendations"]["horizontal"]["minReplicas"][0]["value"]
    return value


AFTERMATH = {names.SCALING_AFTERMATH: '{"replicas": 50, "since": "2026-01-15T11:59:00Z"}'}


@pytest.mark.parametrize(
    ("around", "value", "stored"),
    [
        pytest.param([_tortoise(), OPEN], 25, 3, id="under a floor a slot does not rise"),
        pytest.param([OPEN], 25, 3, id="nor that of a Tortoise which the cache does not have"),
        pytest.param([], 25, 25, id="without both it rises"),
        pytest.param([_tortoise(), OPEN], 2, 2, id="it may fall"),
        pytest.param([_tortoise()], 25, 25, id="without a floor it rises"),
        pytest.param(
            [_tortoise(), OPEN, _autoscaler(status={"desiredReplicas": 51})],
            25,
            25,
            id="demand above the floor is real",
        ),
        pytest.param(
            [_tortoise(), OPEN, _autoscaler(status={"desiredReplicas": 50})],
            25,
            3,
            id="replicas at the floor are ours",
        ),
        pytest.param(
            [_tortoise(metadata={"annotations": AFTERMATH})], 25, 3, id="in the aftermath it waits"
        ),
    ],
)
def test_tortoise_does_not_learn_from_a_window(
    around: list[dict[str, Any]], value: int, stored: int
) -> None:
    old, new = _tortoise(status=_slots(3)), _tortoise(status=_slots(value))
    after = _written("tortoise.constraints", new, old, around, subresource="status")
    assert _value(after) == stored


@pytest.mark.parametrize(
    ("before", "bounds"),
    [
        pytest.param(_autoscaler(), (50, 50), id="both bounds rise"),
        pytest.param(_autoscaler(maximum=80), (50, 80), id="a larger maximum stays"),
        pytest.param(_autoscaler(60, 80), (60, 80), id="what is above the floor stays"),
    ],
)
def test_an_autoscaler_gets_the_floor_and_is_restored(
    before: dict[str, Any], bounds: tuple[int, int]
) -> None:
    raised = _written("autoscaler.floors", before, None, [_tortoise(), OPEN])
    assert (raised["spec"]["minReplicas"], raised["spec"]["maxReplicas"]) == bounds
    assert _written("autoscaler.floors", raised, raised, [_tortoise()]) == before


def test_writes_of_tortoise_keep_the_floor() -> None:
    raised = _written("autoscaler.floors", _autoscaler(), None, [_tortoise(), OPEN])
    copied = merged(raised, {"spec": {"minReplicas": 3, "maxReplicas": 20}})
    assert _written("autoscaler.floors", copied, raised, [_tortoise(), OPEN]) == raised


def test_an_autoscaler_whose_tortoise_is_gone_is_restored() -> None:
    raised = _written("autoscaler.floors", _autoscaler(), None, [_tortoise(), OPEN])
    assert _written("autoscaler.floors", raised, raised, [OPEN]) == _autoscaler()


def test_an_autoscaler_without_a_tortoise_is_not_changed() -> None:
    assert _written("autoscaler.floors", _autoscaler(), None, [OPEN]) == _autoscaler()


def test_the_global_maximum_wins_with_a_warning() -> None:
    request = make_request(_autoscaler())
    around = [_tortoise(), _scaling(replicas=150)]
    decision = decide("mutate", "autoscaler.floors", request, around, OPTIONS)
    assert decision.warnings == (
        "spec.minReplicas: 150 replicas are scheduled, at most 100 are allowed",
    )


def _meaning(floors: Floors) -> dict[str, Any]:
    text = msgspec.json.encode(floors).decode()
    return merged(_autoscaler(), {"metadata": {"annotations": {names.SCALING_FLOORS: text}}})


@pytest.mark.parametrize(
    ("user", "minimum"),
    [
        pytest.param(US, 30, id="our controller is believed"),
        pytest.param(UserInfo(username="jane"), 50, id="anybody else is not"),
    ],
)
def test_floors_in_the_annotation_of_a_write(user: UserInfo, minimum: int) -> None:
    around = [_tortoise(), OPEN]
    stored = _written("autoscaler.floors", _meaning(Floors(30)), None, around, user=user)
    assert stored["spec"]["minReplicas"] == minimum
    assert names.SCALING_FLOORS not in stored["metadata"]["annotations"]
