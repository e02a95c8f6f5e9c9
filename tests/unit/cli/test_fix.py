"""`espalier fix worker-pools`: pools that have more zones than nodes get more nodes."""

from typing import Any

import msgspec
import pytest

from tests.support.admission import read, validate
from tests.support.builders import make_cloud_profile, make_shoot, make_worker
from webhook.api.shoots import Shoot
from webhook.cli import fix
from webhook.cli.main import main
from webhook.kube import patches
from webhook.kube.patches import PatchError


def shoot(*workers: dict[str, Any]) -> dict[str, Any]:
    return make_shoot(workers=[*workers])


def plan(raw: dict[str, Any]) -> fix.Repair | None:
    found = read(raw)
    assert isinstance(found, Shoot)
    return fix.plan(found)


@pytest.mark.parametrize(
    ("raw", "raised"),
    [
        pytest.param(shoot(make_worker(zones="abc", maximum=3)), None, id="enough nodes"),
        pytest.param(
            shoot(make_worker(zones="abc", minimum=0, maximum=0)), None, id="no nodes at all"
        ),
        pytest.param(shoot(), None, id="no pools"),
        pytest.param(
            shoot(make_worker(zones="abc", maximum=2)), ("pool: 2 → 3",), id="too few nodes"
        ),
        pytest.param(
            shoot(
                make_worker("a", "abc", maximum=1),
                make_worker("b", "abc"),
                make_worker("c", "ab", maximum=1),
            ),
            ("a: 1 → 3", "c: 1 → 2"),
            id="some of several pools",
        ),
    ],
)
def test_which_maximums_are_raised(raw: dict[str, Any], raised: tuple[str, ...] | None) -> None:
    repair = plan(raw)
    assert (None if repair is None else repair.raised) == raised
    if repair is not None:
        repaired = patches.apply(raw, repair.patch)
        assert plan(repaired) is None
        assert (
            validate("shoot.workers", repaired, raw, around=[make_cloud_profile()]).refused == set()
        )


def test_a_changed_shoot_is_not_patched() -> None:
    raw = shoot(make_worker(zones="abc", maximum=2))
    repair = plan(raw)
    assert repair is not None
    changed = msgspec.json.decode(msgspec.json.encode(raw))
    changed["spec"]["provider"]["workers"].insert(0, make_worker("new"))
    with pytest.raises(PatchError):
        patches.apply(changed, repair.patch)


def test_an_unreachable_cluster_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "worker-pools", "--kubeconfig", "/nowhere/at/all"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
