"""shoot.sizing: the sizing strategy of a shoot is one of two."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_shoot
from webhook.api import names

FIELD = "spec.kubernetes.clusterAutoscaler.sizingStrategy"
TWIN = f"metadata.annotations[{names.SIZING_STRATEGY}]"


def written(strategy: str) -> dict[str, Any]:
    return {"spec": {"kubernetes": {"clusterAutoscaler": {"sizingStrategy": strategy}}}}


@pytest.mark.parametrize(
    ("strategy", "twin", "refused"),
    [
        pytest.param(None, None, set(), id="not given"),
        pytest.param("Adaptive", None, set(), id="adaptive"),
        pytest.param("Backward-Compatible", None, set(), id="backward-compatible"),
        pytest.param("adaptive", None, {(FIELD, "NotSupported")}, id="in small letters"),
        pytest.param("Equitable", None, {(FIELD, "NotSupported")}, id="unknown"),
        pytest.param(None, "Adaptive", set(), id="in the twin annotation"),
        pytest.param(None, "Greedy", {(TWIN, "NotSupported")}, id="unknown in the twin"),
        pytest.param("Adaptive", "Adaptive", set(), id="both, agreeing"),
        pytest.param(
            "Adaptive", "Backward-Compatible", {(TWIN, "Invalid")}, id="both, contradicting"
        ),
    ],
)
def test_sizing(strategy: str | None, twin: str | None, refused: set[tuple[str, str]]) -> None:
    spec = {} if strategy is None else written(strategy)["spec"]
    annotations = {} if twin is None else {names.SIZING_STRATEGY: twin}
    shoot = make_shoot(spec=spec, metadata={"annotations": annotations})
    assert validate("shoot.sizing", shoot).refused == refused
