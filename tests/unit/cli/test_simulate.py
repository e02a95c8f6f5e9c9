"""Simulations: arrivals that are read or drawn, days that pass, and what is drawn of them."""

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.builders import CORE
from tests.sets import make_set
from tests.unit.controllers.test_seedautoscaler import make_autoscaler
from webhook.api.shoots import Shoot
from webhook.cli.main import main
from webhook.cli.pictures import svg
from webhook.cli.simulate import arrivals, chart
from webhook.cli.simulate.arrivals import ArrivalsError
from webhook.cli.simulate.chart import Line, Panel


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
    said = capsys.readouterr().out
    assert "target 50%" in said
    assert "target 90%" in said
    moments = [line for line in said.splitlines() if line.count(" min") == 2 and "%, " in line]
    assert len(moments) == 29  # 3 days of half hours in no more than 30 lines
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
    ("content", "said"),
    [
        pytest.param("", "needs columns day, action, shoot", id="empty"),
        pytest.param("day,action,shoot\nx,create,s", "line 2", id="no number"),
        pytest.param("day,action,shoot\n1,move,s", "create or delete, not 'move'", id="action"),
    ],
)
def test_bad_arrivals_are_explained(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "arrivals.csv"
    path.write_text(content)
    with pytest.raises(ArrivalsError, match=said):
        arrivals.replayed(path, [Shoot()])


def test_a_landscape_without_an_autoscaler_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "landscape.yaml"
    path.write_text(yaml.safe_dump(make_set()))
    assert simulate(path, "--arrivals=5") == 2
    assert "has no SeedAutoscaler" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "said"),
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
    ],
)
def test_flags_that_make_no_sense_are_explained(
    landscape: Path, capsys: pytest.CaptureFixture[str], flag: str, said: str
) -> None:
    assert simulate(landscape, "--arrivals=5", flag) == 2
    assert said in capsys.readouterr().err


def test_a_drawing_named_png_is_one(landscape: Path) -> None:
    output = landscape.parent / "out.PNG"
    assert simulate(landscape, "--arrivals=20", f"--output={output}") == 0
    assert output.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_random_shoots_go_only_after_they_came() -> None:
    events = arrivals.read("30", [Shoot()], 10, 2, seed=7)
    came: dict[str, timedelta] = {}
    for event in events:
        if event.action == "create":
            came[event.name] = event.at
        else:
            assert came[event.name] <= event.at
    assert 200 < len(came) < 400


def test_long_lines_are_thinned_and_names_escaped() -> None:
    points = [(float(number), float(number % 7)) for number in range(10_000)]
    drawn = svg.write(chart.draw([Panel("a < b", [Line("<x>", points)])]))
    assert len(drawn) < 60_000
    assert "a &lt; b" in drawn
    assert "&lt;x&gt;" in drawn
