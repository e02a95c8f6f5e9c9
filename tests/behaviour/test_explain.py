"""`espalier explain` on a running API server, for stored shoots and for a manifest."""

import json

import pytest
import yaml

from tests.behaviour.placement_stage import staged
from tests.support.scheduler import run_explain

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def stage(server, namespace, espalier):
    async with staged(server, namespace, espalier) as found:
        yield found


async def test_a_shoot_in_the_cluster_is_explained(server, stage):
    await stage.create(stage.seed("a"), stage.seed("far", region="us-east-1"), stage.shoot("one"))
    code, out, _ = await run_explain(server, str(stage.key("one")))
    assert code == 0
    assert f"{stage.name('a')} is chosen" in out
    assert "is not in the shoot's region" in out
    code, out, _ = await run_explain(server, str(stage.key("one")), "-o", "json")
    reported = {seed["name"]: seed for seed in json.loads(out)["seeds"]}
    assert reported[stage.name("a")]["result"] == "chosen"
    assert reported[stage.name("far")]["step"] == "strategy"


async def test_a_manifest_that_is_not_in_the_cluster_is_explained(server, stage):
    await stage.create(stage.seed("far", region="us-east-1"))
    shoot = yaml.safe_dump(stage.shoot("not-there"))
    code, out, _ = await run_explain(server, "-f", "-", given=shoot)
    assert code == 1
    assert "none to choose" in out


async def test_settings_and_invalid_arguments(server, stage, tmp_path):
    await stage.create(stage.seed("far", region="us-east-1"), stage.shoot("one"))
    settings = tmp_path / "espalier.yaml"
    settings.write_text("scheduler: {strategy: MinimalDistance}\n")
    code, out, _ = await run_explain(server, str(stage.key("one")), f"--config={settings}")
    assert code == 0
    assert f"{stage.name('far')} is chosen" in out
    for arguments, message in (
        ((str(stage.key("nobody")),), f"there is no shoot {stage.key('nobody')}"),
        (("nobody",), "name a shoot as NAMESPACE/SHOOT, or a manifest with -f"),
        (("-f", "/nowhere.yaml"), "/nowhere.yaml cannot be read"),
    ):
        code, _, err = await run_explain(server, *arguments)
        assert code == 2
        assert message in err
