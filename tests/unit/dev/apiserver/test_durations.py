"""Durations are formatted as in kubectl's AGE column."""

from datetime import UTC, datetime

import pytest

from webhook.dev.apiserver import durations


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        pytest.param(-2, "<invalid>", id="in the future"),
        pytest.param(-1, "0s", id="a clock that is a little behind"),
        pytest.param(119, "119s", id="seconds up to two minutes"),
        pytest.param(120, "2m", id="two minutes"),
        pytest.param(125, "2m5s", id="minutes and seconds"),
        pytest.param(600, "10m", id="minutes alone"),
        pytest.param(3 * 3600, "3h", id="hours"),
        pytest.param(3 * 3600 + 60, "3h1m", id="hours and minutes"),
        pytest.param(47 * 3600, "47h", id="hours alone"),
        pytest.param(48 * 3600, "2d", id="days"),
        pytest.param(49 * 3600, "2d1h", id="days and hours"),
        pytest.param(200 * 3600, "8d", id="days alone"),
        pytest.param(800 * 86400, "2y70d", id="years and days"),
        pytest.param(3000 * 86400, "8y", id="years alone"),
    ],
)
def test_durations_are_formatted_as_kubectl_does(seconds, shown):
    assert durations.human_duration(seconds) == shown


def test_the_age_of_a_timestamp():
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert durations.age("2026-01-01T00:00:00Z", now) == "60s"
    assert durations.age("yesterday", now) == "<invalid>"
