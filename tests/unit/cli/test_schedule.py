"""The timeline of windows: what is drawn, in a terminal and as SVG."""

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from tests.support.steps import count_steps
from webhook.api.scaling import ScheduledScaling
from webhook.cli import svg
from webhook.cli.schedule import drawing, terminal
from webhook.cli.schedule.timeline import FloorStep, describe, lanes, steps
from webhook.domain.scaling.floors import Floors
from webhook.domain.scaling.recurrence import Window

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
WEEK = NOW + timedelta(days=7)


def _scaling(name: str, schedule: dict[str, Any], replicas: int, **spec: Any) -> ScheduledScaling:
    body = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "creationTimestamp": "2026-03-01T00:00:00Z",
        },
        "spec": {
            "targetRefs": {"tortoiseName": "cute"},
            "strategy": {"static": {"minimumMinReplicas": replicas}},
            "schedule": schedule,
            **spec,
        },
    }
    return msgspec.convert(body, ScheduledScaling)


LUNCH = _scaling("lunch", {"cron": "0 11 * * *", "duration": "3h"}, 10)
CAMPAIGN = _scaling(
    "campaign",
    {"startAt": "2026-03-03T10:00:00Z", "finishAt": "2026-03-03T12:00:00Z"},
    50,
)
PAUSED = _scaling("paused", {"cron": "0 1 * * *", "duration": "1h"}, 9, suspend=True)
WRONG = _scaling("wrong", {"cron": "0 1 * * *"}, 9)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_floors_of_overlapping_windows_are_combined() -> None:
    (lane,) = lanes([LUNCH, CAMPAIGN], NOW, NOW + timedelta(days=1, hours=3))
    assert list(steps(lane)) == [
        FloorStep(Window(NOW, _at("2026-03-02T14:00:00")), Floors(10)),
        FloorStep(Window(_at("2026-03-03T10:00:00"), _at("2026-03-03T12:00:00")), Floors(50)),
        FloorStep(Window(_at("2026-03-03T12:00:00"), _at("2026-03-03T14:00:00")), Floors(10)),
    ]


def test_a_schedule_without_a_window_has_a_remark() -> None:
    (lane,) = lanes([PAUSED, WRONG], NOW, WEEK)
    assert {bar.name: bar.remark for bar in lane.bars} == {
        "paused": "suspended",
        "wrong": "spec.schedule.duration: set the duration of each window, e.g. 90m",
    }


def test_a_terminal_shows_a_bar_for_each_schedule() -> None:
    found = lanes([LUNCH, CAMPAIGN, PAUSED], NOW, WEEK)
    drawn = terminal.draw(found, NOW, WEEK, 100)
    lines = drawn.splitlines()
    assert lines[0] == ("2026-03-02 12:00 to 2026-03-09 12:00 UTC, one character is 115 min")
    assert "│Tue 03" in lines[2]
    assert lines[4] == "shop/cute"
    lunch = next(line for line in lines if line.startswith("  lunch"))
    assert lunch.count("█") >= 8
    assert "  Tue 03 Mar 10:00 to Tue 03 Mar 12:00  50 replicas" in lines
    assert all(len(line) <= 100 for line in lines)


def test_no_schedules_give_one_sentence() -> None:
    assert terminal.draw([], NOW, WEEK, 80) == "there are no scheduled scalings\n"


def test_a_short_window_is_visible() -> None:
    short = _scaling(
        "short", {"startAt": "2026-03-05T10:00:00Z", "finishAt": "2026-03-05T10:01:00Z"}, 5
    )
    drawn = terminal.draw(lanes([short], NOW, WEEK), NOW, WEEK, 80)
    assert drawn.count("█") == 1


def test_a_drawing_is_svg_with_a_box_for_each_window() -> None:
    found = lanes([LUNCH, CAMPAIGN], NOW, WEEK)
    tree = ElementTree.fromstring(svg.write(drawing.draw(found, NOW, WEEK)))
    boxes = [each for each in tree.iter() if each.tag.endswith("rect")]
    windows = sum(len(bar.windows) for lane in found for bar in lane.bars)
    together = sum(len([*steps(lane)]) for lane in found)
    assert len(boxes) == 1 + windows + together
    titles = [each.text for each in tree.iter() if each.tag.endswith("title")]
    assert "03 Mar 10:00 to 03 Mar 12:00: 50 replicas" in titles


@pytest.mark.parametrize(
    ("floors", "text"),
    [
        (Floors(5), "5 replicas"),
        (Floors(None, {"app": {"memory": "5Gi", "cpu": "2"}}), "app cpu 2, app memory 5Gi"),
    ],
)
def test_floors_are_described_in_one_line(floors: Floors, text: str) -> None:
    assert describe(floors) == text


def test_a_schedule_that_never_closes_is_open_all_the_time() -> None:
    always = _scaling("always", {"cron": "* * * * *", "duration": "1m"}, 5)
    (lane,) = lanes([always], NOW, WEEK)
    assert [*steps(lane)] == [FloorStep(Window(NOW, WEEK), Floors(5))]
    assert "·" not in terminal.draw([lane], NOW, WEEK, 100)


OFTEN = _scaling("often", {"cron": "*/2 * * * *", "duration": "1m"}, 5)
ENDING = _scaling(
    "ending", {"cron": "*/2 * * * *", "duration": "1m", "finishAt": "2026-03-08T12:00:00Z"}, 9
)


def test_gaps_too_short_to_be_drawn_are_omitted_with_a_remark() -> None:
    (lane,) = lanes([OFTEN, ENDING], NOW, WEEK)
    assert {bar.name: bar.windows for bar in lane.bars} == {
        "often": (Window(NOW, _at("2026-03-09T12:00:00")),),
        "ending": (Window(NOW, _at("2026-03-08T12:00:00")),),
    }
    drawn = terminal.draw([lane], NOW, WEEK, 100)
    assert "  5 replicas (gaps of less than 3 min are not shown)" in drawn
    (often,) = (line for line in drawn.splitlines() if line.startswith("  often"))
    assert "·" not in often


def test_gaps_are_shown_on_a_shorter_timeline() -> None:
    hour = NOW + timedelta(hours=1)
    (lane,) = lanes([OFTEN], NOW, hour)
    assert len(lane.bars[0].windows) == 30
    assert "not shown" not in terminal.draw([lane], NOW, hour, 100)


def test_the_steps_of_many_dense_schedules_cost_no_more_than_their_edges() -> None:
    few, many = (
        lanes(
            [
                _scaling(f"s{number}", {"cron": f"{number % 5}-59/5 * * * *", "duration": "1m"}, 5)
                for number in range(count)
            ],
            NOW,
            NOW + timedelta(days=1),
        )[0]
        for count in (5, 50)
    )
    assert [*steps(few)] == [*steps(many)]
    assert count_steps(lambda: [*steps(many)]) < 15 * count_steps(lambda: [*steps(few)])
