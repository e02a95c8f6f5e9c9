"""Node groups for people: certificates, configuration, listing, simulation."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.machines import SHOOT_NAMESPACE, decode_all, make_deployment, make_machine, make_set
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.poolobjects import PoolObject
from webhook.cli.main import main
from webhook.cli.nodegroups import command, listing
from webhook.cli.simulate import nodegroups
from webhook.domain import poolencoding, poolrecord
from webhook.domain.poolrecord import Record, ZoneState
from webhook.domain.pools import PoolKey
from webhook.nodegroups.identity import named_by
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
        assert named_by((folder / "tls.crt").read_bytes()) == name
        assert (folder / "ca.crt").read_bytes() == (tmp_path / "ca.crt").read_bytes()
        assert (folder / "tls.key").stat().st_mode & 0o077 == 0


def test_what_cannot_be_a_namespace_gets_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["certs", "create", "--directory", str(tmp_path), "--nodegroups", "../x"]
    assert main(arguments) == 2
    assert "'../x' is no name of a namespace" in capsys.readouterr().err


def test_a_certificate_of_another_use_names_no_namespace(tmp_path: Path) -> None:
    arguments = ["certs", "create", "--directory", str(tmp_path), "--client", "shoot--dev--one"]
    assert main(arguments) == 0
    assert named_by((tmp_path / "client.crt").read_bytes()) == ""
    assert named_by(b"no certificate") == ""


def test_an_autoscaler_is_told_what_to_set_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodegroups", "config", "shoot--dev--one", "--offline"]) == 0
    said = capsys.readouterr().out
    assert 'address: "espalier.espalier-system.svc:9444"' in said
    for flag in ("--cloud-provider=externalgrpc", "--balance-similar-node-groups=true"):
        assert f"\n{flag}  # " in said
    assert "\n# --capacity-quotas-enabled=true: " in said
    assert "\n# --nodes: " in said


def _snapshot() -> Snapshot:
    first = make_deployment(zone=0, replicas=2, metadata=ADAPTIVE)
    second = make_deployment(zone=1, replicas=1, metadata=ADAPTIVE)
    broken = make_deployment("other", bounds=None)
    old = make_set(first, "old", spec={"replicas": 2})
    new = make_set(first, "new", spec={"replicas": 1})
    machines = [make_machine(old, "a"), make_machine(old, "b"), make_machine(new, "a", "Pending")]
    key = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")
    bad = ZoneState(until="2026-01-01T12:05:00Z", strikes=1, on_trial=True)
    record = poolrecord.with_zone(Record(key), second["metadata"]["name"], bad)
    written: Any = poolencoding.encode(record, "espalier-system")
    objects = decode_all(first, second, broken, old, new, *machines)
    return Snapshot.of([*objects, convert(PoolObject, written)], taken_at=NOW)


def test_a_listing_shows_bounds_sizes_troubles_and_permits() -> None:
    snapshot = _snapshot()
    (view,) = listing.views_of(snapshot)
    first, second = listing.rows_of(snapshot, view)
    assert (first.minimum, first.maximum, first.assigned, first.ready) == (2, 3, 2, 2)
    assert (first.is_rolling, first.permits) == (True, "surge 1/1, out 1/0")
    assert (second.minimum, second.maximum, second.assigned, second.ready) == (0, 2, 1, 0)
    assert second.json["badUntil"] == "2026-01-01T12:05:00Z"
    assert json.loads(json.dumps(first.json))["pool"] == "pool"
    (unfit,) = view.unfit
    console = Console(width=200, record=True)
    console.print(command._shown([first, second], [unfit]))
    said = console.export_text()
    assert "bad until 12:05:00" in said
    assert "rolling" in said
    assert f"left out: {unfit.name}: spec.poolMaximum: required" in said


SCENARIO = """
pool: {minimum: 3, maximum: 4, zones: 3, sizingStrategy: Adaptive}
events:
- {bad: [0], increase: {1: 1}}
- {increase: {1: 1}}
- {increase: {2: 1}}
- {increase: {2: 9}}
- {good: [0], decrease: {1: 2}, maximum: 5}
"""


def test_a_scenario_is_worked_out_scan_by_scan(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    found = nodegroups.scans(nodegroups.read(str(path)))
    said = [[(*group.bounds, group.assigned) for group in scan] for scan in found]
    assert said == [
        [(1, 4, 0), (1, 4, 0), (1, 4, 0)],
        [(0, 3, 0), (2, 4, 1), (1, 3, 0)],
        [(0, 2, 0), (2, 4, 2), (1, 2, 0)],
        [(0, 1, 0), (2, 3, 2), (1, 2, 1)],
        [(0, 0, 0), (2, 2, 2), (1, 2, 2)],
        [(1, 3, 0), (1, 3, 0), (1, 5, 2)],
    ]


def test_a_scenario_becomes_a_table_and_a_drawing(
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
def test_a_scenario_that_makes_no_sense_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "nodegroups.yaml"
    path.write_text(content)
    assert main(["simulate", "nodegroups", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_scenario_needs_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "nodegroups"]) == 2
    assert main(["simulate", "others", "file"]) == 2
    assert main(["simulate"]) == 2
    assert "espalier simulate nodegroups FILE" in capsys.readouterr().err
