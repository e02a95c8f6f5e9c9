"""shoot.scheduler: shoots of labelled namespaces are placed by Espalier."""

from typing import Any

import pytest

from tests.support.admission import mutate
from tests.support.builders import make_shoot, make_worker
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

ON = Options(beside_gardener=True, admission=AdmissionOptions(modes={"shoot.scheduler": "deny"}))


def namespace(label: str | None) -> dict[str, Any]:
    labels = {} if label is None else {names.SCHEDULER_NAMESPACE: label}
    metadata = {"name": "garden-dev", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.mark.parametrize(
    ("scheduler", "label", "options", "expected"),
    [
        pytest.param("default-scheduler", "true", ON, "espalier", id="Gardener's default"),
        pytest.param(None, "true", ON, "espalier", id="none at all"),
        pytest.param("other", "true", ON, "other", id="another that was chosen"),
        pytest.param("default-scheduler", "false", ON, "default-scheduler", id="not labelled"),
        pytest.param("default-scheduler", None, ON, "default-scheduler", id="not labelled"),
        pytest.param(
            "default-scheduler", "true", Options(), "default-scheduler", id="off by default"
        ),
    ],
)
def test_scheduler(
    scheduler: str | None, label: str | None, options: Options, expected: str
) -> None:
    shoot = make_shoot(spec={} if scheduler is None else {"schedulerName": scheduler})
    if scheduler is None:
        shoot["spec"].pop("schedulerName", None)
    around = [namespace(label)]
    after, warnings = mutate("shoot.scheduler", shoot, around=around, options=options)
    assert (after["spec"].get("schedulerName"), warnings) == (expected, ())


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        pytest.param({"controlPlane": {}}, "default-scheduler", id="self-hosted"),
        pytest.param({}, "espalier", id="hosted on a seed"),
    ],
)
def test_a_shoot_that_needs_no_seed_needs_no_scheduler(pool: dict[str, Any], expected: str) -> None:
    shoot = make_shoot(
        workers=[make_worker(), make_worker("other", **pool)],
        spec={"schedulerName": "default-scheduler"},
    )
    after, _ = mutate("shoot.scheduler", shoot, around=[namespace("true")], options=ON)
    assert after["spec"]["schedulerName"] == expected


def test_a_namespace_that_is_gone_has_no_label() -> None:
    shoot = make_shoot(spec={"schedulerName": "default-scheduler"})
    after, _ = mutate("shoot.scheduler", shoot, options=ON)
    assert after == shoot
