"""`espalier explain` on a living API server, for shoots that are there and for one that is not."""

import asyncio
import json
import sys

import pytest
import yaml

from tests.schedulers import Stage, connected, define_kinds
from webhook.domain.options import Options

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def stage(server, namespace):
    await define_kinds(server)
    async with connected(str(server.kubeconfig), Options(namespace=namespace)) as scheduling:
        found = Stage(scheduling, namespace)
        await found.begin()
        yield found
        await found.end()


async def espalier(server, *arguments, given=""):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "webhook", "explain", f"--kubeconfig={server.kubeconfig}", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate(given.encode())
    return process.returncode, out.decode(), err.decode()


async def test_a_shoot_in_the_cluster_is_explained(server, stage):
    await stage.create(stage.seed("a"), stage.seed("far", region="us-east-1"), stage.shoot("one"))
    code, out, _ = await espalier(server, f"{stage.namespace}/one")
    assert code == 0
    assert f"{stage.name('a')} is chosen" in out
    assert "is not in the shoot's region" in out
    code, out, _ = await espalier(server, f"{stage.namespace}/one", "-o", "json")
    told = {seed["name"]: seed for seed in json.loads(out)["seeds"]}
    assert told[stage.name("a")]["result"] == "chosen"
    assert told[stage.name("far")]["step"] == "strategy"


async def test_a_manifest_that_is_not_in_the_cluster_is_explained(server, stage):
    await stage.create(stage.seed("far", region="us-east-1"))
    shoot = yaml.safe_dump(stage.shoot("not-there"))
    code, out, _ = await espalier(server, "-f", "-", given=shoot)
    assert code == 1
    assert "none to choose" in out


async def test_settings_and_mistakes(server, stage, tmp_path):
    await stage.create(stage.seed("far", region="us-east-1"), stage.shoot("one"))
    settings = tmp_path / "espalier.yaml"
    settings.write_text("scheduler: {strategy: MinimalDistance}\n")
    code, out, _ = await espalier(server, f"{stage.namespace}/one", f"--config={settings}")
    assert code == 0
    assert f"{stage.name('far')} is chosen" in out
    for arguments, message in (
        ((f"{stage.namespace}/nobody",), f"there is no shoot {stage.namespace}/nobody"),
        (("nobody",), "name a shoot as NAMESPACE/SHOOT, or a manifest with -f"),
        (("-f", "/nowhere.yaml"), "/nowhere.yaml cannot be read"),
    ):
        code, _, err = await espalier(server, *arguments)
        assert code == 2
        assert message in err
