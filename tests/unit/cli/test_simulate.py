"""Simulations: arrivals that are read or drawn, days that pass, and what is drawn of them."""

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.support.builders import CORE
from tests.support.set_objects import make_autoscaler, make_set
from webhook.api.shoots import Shoot
from webhook.cli import svg
from webhook.cli.main import main
from webhook.cli.simulate import arrivals, chart
from webhook.cli.simulate.arrivals import ArrivalsError
from webhook.cli.simulate.chart import Chart, DataSeries


@pytest.fixture
def landscape(tmp_path: Path) -> Path:
    """A set of small seeds with an autoscaler."""
    tolerant = {"spec": {"seedName": None}}
    profile = {"apiVersion": CORE, "kind": "CloudProfile", "metadata": {"name": "aws"}}
    documents = [
        {**profile, "spec": {"type": "aws"}},
        make_set(replicas=1, maxParallel=3, shootTemplate=tolerant),
        make_autoscaler(utilization=70, most=20),
    ]
    path = tmp_path / "landscape.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path


def simulate(landscape: Path, *more: str) -> int:
    output = str(landscape.parent / "out.svg")
    common = ["--days=3", "--capacity=10", "--step-minutes=30", "-o", output]
    return main(["simulate", f"--landscape={landscape}", *common, *more])


def test_targets_are_compared_in_a_table_and_a_drawing(
    landscape: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(landscape, "--arrivals=20", "--target=50", "--target=90") == 0
    message = capsys.readouterr().out
    assert "target 50%" in message
    assert "target 90%" in message
    rows = [line for line in message.splitlines() if line.count(" min") == 2 and "%, " in line]
    assert len(rows) == 29  # 3 days of half hours in no more than 30 lines
    drawn = ElementTree.fromstring((landscape.parent / "out.svg").read_text())
    lines = [each for each in drawn.iter() if each.tag.endswith("polyline")]
    assert len(lines) == 8
    titles = [each.text for each in drawn.iter() if each.get("font-weight") == "bold"]
    assert titles == [
        "seeds",
        "utilisation, percent",
        "shoots waiting",
        "waiting time, minutes",
    ]


def test_the_same_arrivals_give_the_same_drawing(landscape: Path) -> None:
    output = landscape.parent / "out.svg"
    assert simulate(landscape, "--arrivals=20") == 0
    first = output.read_text()
    assert simulate(landscape, "--arrivals=20") == 0
    assert output.read_text() == first


def test_arrivals_are_replayed_from_a_file(
    landscape: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["day,action,shoot", *(f"0.{number:02},create,s{number}" for number in range(25))]
    path = landscape.parent / "arrivals.csv"
    path.write_text("\n".join([*rows, "2,delete,s0"]))
    assert simulate(landscape, f"--arrivals={path}") == 0
    assert " 25 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "needs columns day, action, shoot", id="empty"),
        pytest.param("day,action,shoot\nx,create,s", "line 2", id="no number"),
        pytest.param("day,action,shoot\n1,move,s", "create or delete, not 'move'", id="action"),
    ],
)
def test_malformed_arrivals_are_errors(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "arrivals.csv"
    path.write_text(content)
    with pytest.raises(ArrivalsError, match=message):
        arrivals.replay(path, [Shoot()])


def test_a_landscape_without_an_autoscaler_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "landscape.yaml"
    path.write_text(yaml.safe_dump(make_set()))
    assert simulate(path, "--arrivals=5") == 2
    assert "has no SeedAutoscaler" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        pytest.param("--days=0", "--days must be more than 0", id="no days"),
        pytest.param("--days=nan", "--days must be more than 0", id="no number of days"),
        pytest.param("--step-minutes=0", "--step-minutes must be more than 0", id="no steps"),
        pytest.param("--days=1e9", "make too many steps", id="too many steps"),
        pytest.param("--target=0", "--target 0 must be 1 to 100 percent", id="no target"),
        pytest.param("--target=101", "--target 101 must be 1 to 100", id="more than full"),
        pytest.param("--arrivals=-3", "name a file, or how many", id="a negative rate"),
        pytest.param("--arrivals=nowhere.csv", "nowhere.csv", id="no such file"),
        pytest.param("--output=/nowhere/out.svg", "No such file or directory", id="no folder"),
        pytest.param("--output=out.PNG", "name an .svg file", id="no SVG file"),
    ],
)
def test_invalid_flags_are_errors(
    landscape: Path, capsys: pytest.CaptureFixture[str], flag: str, message: str
) -> None:
    assert simulate(landscape, "--arrivals=5", flag) == 2
    assert message in capsys.readouterr().err


def test_random_shoots_are_deleted_after_their_creation() -> None:
    events = arrivals.read("30", [Shoot()], 10, 2, seed=7)
    created: dict[str, timedelta] = {}
    for event in events:
        if event.action == "create":
            created[event.name] = event.at
        else:
            assert created[event.name] <= event.at
    assert 200 < len(created) < 400


def test_long_lines_are_thinned_and_names_escaped() -> None:
    points = [(float(number), float(number % 7)) for number in range(10_000)]
    drawn = svg.write(chart.draw([Chart("a < b", [DataSeries("<x>", points)])]))
    assert len(drawn) < 60_000
    assert "a &lt; b" in drawn
    assert "&lt;x&gt;" in drawn


@pytest.mark.parametrize("mode", ["Auto", "Recommend"])
def test_an_autoscaler_that_only_recommends_is_simulated_as_one_that_acts(
    landscape: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    assert simulate(landscape, "--arrivals=20") == 0
    expected = (landscape.parent / "out.svg").read_text()
    capsys.readouterr()
    documents = [*yaml.safe_load_all(landscape.read_text())]
    documents[-1]["spec"]["mode"] = mode
    landscape.write_text(yaml.safe_dump_all(documents))
    assert simulate(landscape, "--arrivals=20") == 0
    assert (landscape.parent / "out.svg").read_text() == expected
    note = "has mode Recommend; it is simulated as with Auto"
    assert (note in capsys.readouterr().out) == (mode == "Recommend")
