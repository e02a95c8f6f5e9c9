"""What users do with kubectl, old and new, prints the same on both servers."""

from dataclasses import replace

import pytest

from tests.behaviour.kubectl_runner import ScenarioRunner
from tests.behaviour.kubectl_scenarios import SCENARIOS
from tests.behaviour.recorded_answers import Record
from tests.support.control_planes import require_parts
from webhook.dev.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(400)
RECORDS = {name: Record(f"scenarios-{name}") for name in ("kubectl", "kubectl-1.32")}


@pytest.mark.parametrize("binary", RECORDS)
@pytest.mark.parametrize(
    "scenario", [pytest.param(scenario, id=scenario.id) for scenario in SCENARIOS]
)
async def test_scenario(server, session, scenario, binary, tmp_path, monkeypatch):
    require_parts("kubernetes" if binary == "kubectl" else binary)
    edits = tmp_path / "edits"
    monkeypatch.setenv("EDITOR", f"sed -i -f {edits}")
    runner = ScenarioRunner(replace(server.kubectl, binary=binary), session, edits)
    outcome = await runner.run(scenario, RECORDS[binary].expected(scenario.id))
    RECORDS[binary].check(scenario.id, outcome, is_real=isinstance(server, Kubernetes))


@pytest.mark.parametrize("binary", RECORDS)
def test_every_scenario_is_recorded(binary):
    assert RECORDS[binary].keys == {scenario.id for scenario in SCENARIOS}
