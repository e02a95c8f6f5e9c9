"""Node groups for people: certificates, configuration, listing, simulation."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.machine_objects import (
    SHOOT_NAMESPACE,
    decode_all,
    make_deployment,
    make_machine,
    make_set,
)
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.pool_records import PoolRecordObject
from webhook.cli.main import main
from webhook.cli.nodegroups import command, listing
from webhook.cli.simulate import nodegroups
from webhook.domain.pools import pool_record, record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord, ZoneState
from webhook.nodegroups.identity import namespace_in_certificate
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ADAPTIVE = {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}


def test_a_certificate_for_an_autoscaler_names_its_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["certs", "create", "--directory", str(tmp_path), "--nodegroups"]
    assert main([*arguments, "shoot--dev--one"]) == 0
    assert main([*arguments, "shoot--dev--two"]) == 0, "by the authority that is there by now"
    assert "espalier nodegroups config shoot--dev--two" in capsys.readouterr().out
    for name in ("shoot--dev--one", "shoot--dev--two"):
        folder = tmp_path / f"nodegroups-{name}"
        assert namespace_in_certificate((folder / "tls.crt").read_bytes()) == name
        assert (folder / "ca.crt").read_bytes() == (tmp_path / "ca.crt").read_bytes()
        assert (folder / "tls.key").stat().st_mode & 0o077 == 0


def test_an_invalid_namespace_gets_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["certs", "create", "--directory", str(tmp_path), "--nodegroups", "../x"]
    assert main(arguments) == 2
    assert "'../x' is not a valid namespace name" in capsys.readouterr().err


def test_a_certificate_for_another_use_names_no_namespace(tmp_path: Path) -> None:
    arguments = ["certs", "create", "--directory", str(tmp_path), "--client", "shoot--dev--one"]
    assert main(arguments) == 0
    assert namespace_in_certificate((tmp_path / "client.crt").read_bytes()) == ""
    assert namespace_in_certificate(b"no certificate") == ""


def test_the_config_lists_flags_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodegroups", "config", "shoot--dev--one", "--offline"]) == 0
    printed = capsys.readouterr().out
    assert 'address: "espalier.espalier-system.svc:9444"' in printed
    for flag in ("--cloud-provider=externalgrpc", "--balance-similar-node-groups=true"):
        assert f"\n{flag}  # " in printed
    assert "\n# --capacity-quotas-enabled=true: " in printed
    assert "\n# --nodes: " in printed


def _snapshot() -> Snapshot:
    first = make_deployment(zone=0, replicas=2, metadata=ADAPTIVE)
    second = make_deployment(zone=1, replicas=1, metadata=ADAPTIVE)
    broken = make_deployment("other", bounds=None)
    old = make_set(first, "old", spec={"replicas": 2})
    new = make_set(first, "new", spec={"replicas": 1})
    machines = [make_machine(old, "a"), make_machine(old, "b"), make_machine(new, "a", "Pending")]
    key = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")
    bad = ZoneState(until="2026-01-01T12:05:00Z", strikes=1, on_trial=True)
    record = pool_record.with_zone_state(PoolRecord(key), second["metadata"]["name"], bad)
    written: Any = record_encoding.encode(record, "espalier-system")
    objects = decode_all(first, second, broken, old, new, *machines)
    return Snapshot.of([*objects, convert(PoolRecordObject, written)], taken_at=NOW)


def test_a_listing_shows_bounds_sizes_zone_states_and_permits() -> None:
    snapshot = _snapshot()
    (view,) = listing.views_of(snapshot)
    first, second = listing.rows_of(snapshot, view)
    assert (first.minimum, first.maximum, first.assigned, first.ready) == (2, 3, 2, 2)
    assert (first.is_rolling, first.permits) == (True, "surge 1/1, out 1/0")
    assert (second.minimum, second.maximum, second.assigned, second.ready) == (0, 2, 1, 0)
    assert second.json["badUntil"] == "2026-01-01T12:05:00Z"
    assert (first.json["health"], second.json["health"]) == ("good", "bad")
    assert json.loads(json.dumps(first.json))["pool"] == "pool"
    (unusable,) = view.unusable
    console = Console(width=200, record=True)
    console.print(command._render([first, second], [unusable], []))
    printed = console.export_text()
    assert "bad until 12:05:00" in printed
    assert "rolling" in printed
    assert f"left out: {unusable.name}: spec.poolMaximum: required" in printed


def test_zones_that_disagree_are_listed_with_their_values_and_what_counts() -> None:
    lagging = make_deployment(zone=1, bounds=(3, 4), metadata=ADAPTIVE)
    raised = make_deployment(zone=0, bounds=(3, 9), metadata=ADAPTIVE)
    snapshot = Snapshot.of(decode_all(lagging, raised), taken_at=NOW)
    (view,) = listing.views_of(snapshot)
    (found,) = listing.disagreements_of(view)
    first, second = raised["metadata"]["name"], lagging["metadata"]["name"]
    assert found.text == (
        f"zones disagree: {SHOOT_NAMESPACE}/pool: poolMaximum is 9 in {first}, 4 in {second};"
        " 4 counts, set one value in all"
    )
    reported = command.Listing([], [], [found]).json["disagreements"]
    assert json.loads(json.dumps(reported))[0]["values"] == {first: "9", second: "4"}
    console = Console(width=300, record=True)
    console.print(command._render([], [], [found]))
    assert found.text in console.export_text()


SCENARIO = """
pool: {minimum: 3, maximum: 4, zones: 3, sizingStrategy: Adaptive}
events:
- {bad: [0], increase: {1: 1}}
- {increase: {1: 1}}
- {increase: {2: 1}}
- {increase: {2: 9}}
- {good: [0], decrease: {1: 2}, maximum: 5}
"""


def test_a_scenario_gives_a_scan_after_each_event(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    found = nodegroups.scans(nodegroups.read(str(path)))
    printed = [[(*group.bounds, group.assigned) for group in scan] for scan in found]
    assert printed == [
        [(1, 4, 0), (1, 4, 0), (1, 4, 0)],
        [(0, 3, 0), (2, 4, 1), (1, 3, 0)],
        [(0, 2, 0), (2, 4, 2), (1, 2, 0)],
        [(0, 1, 0), (2, 3, 2), (1, 2, 1)],
        [(0, 0, 0), (2, 2, 2), (1, 2, 2)],
        [(1, 3, 0), (1, 3, 0), (1, 5, 2)],
    ]


@pytest.mark.parametrize(
    ("event", "sizes"),
    [
        pytest.param({"increase": {0: 4, 1: 3, 2: 3}}, [2, 1, 1], id="a balanced scale-up"),
        pytest.param({"increase": {1: 4}}, [0, 4, 0], id="one zone alone"),
        pytest.param({"bad": [0], "increase": {1: 4, 2: 4}}, [0, 2, 2], id="a bad zone"),
    ],
)
def test_increases_of_one_event_share_the_pool(event: dict[str, Any], sizes: list[int]) -> None:
    pool = {"minimum": 0, "maximum": 4, "zones": 3, "sizingStrategy": "Adaptive"}
    scenario = nodegroups.ScenarioFile.model_validate({"pool": pool, "events": [event]})
    assert [group.assigned for group in nodegroups.scans(scenario)[1]] == sizes


def test_a_scenario_is_printed_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, drawn = tmp_path / "scenario.yaml", tmp_path / "scenario.svg"
    path.write_text(SCENARIO)
    assert main(["simulate", "nodegroups", str(path), "-o", str(drawn)]) == 0
    assert "Scan-4  NG0      0    0         0  backoff" in capsys.readouterr().out
    assert drawn.read_text().startswith("<svg")
    assert "scan 5" in drawn.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("pool: {minimum: 3, maximum: 2, zones: 1}", "minimum 3 is above", id="bounds"),
        pytest.param("pool: {minimum: 0, maximum: 2, zones: 0}", "pool.zones", id="no zones"),
        pytest.param(
            "pool: {minimum: 0, maximum: 2, zones: 2, assigned: [1]}",
            "assigned needs one number for each of 2 zones",
            id="too few sizes",
        ),
        pytest.param(
            "pool: {minimum: 0, maximum: 2, zones: 2}\nevents: [{bad: [2]}]",
            "events[0]: there is no zone 2",
            id="a zone that is not there",
        ),
        pytest.param(
            "pool: {minimum: 0, maximum: 2, zones: 2, size: 1}", "pool.size", id="unknown"
        ),
        pytest.param("{", "is not YAML", id="no YAML"),
        pytest.param("", "nodegroups", id="nothing"),
    ],
)
def test_an_invalid_scenario_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "nodegroups.yaml"
    path.write_text(content)
    assert main(["simulate", "nodegroups", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_scenario_without_a_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "nodegroups"]) == 2
    assert main(["simulate", "others", "file"]) == 2
    assert main(["simulate"]) == 2
    assert "espalier simulate nodegroups FILE" in capsys.readouterr().err
