"""Durations in Go's notation."""

from datetime import timedelta

import pytest

from webhook.kube import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("5s", 5.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="several parts"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("1.5s", 1.5, id="a fraction"),
        pytest.param(".5s", 0.5, id="a fraction without a whole part"),
        pytest.param("2us", 2e-6, id="microseconds"),
        pytest.param("2µs", 2e-6, id="microseconds with the micro sign"),
        pytest.param("", None, id="nothing"),
        pytest.param("5", None, id="no unit"),
        pytest.param("s", None, id="no number"),
        pytest.param("5s!", None, id="something behind it"),
        pytest.param("-5s", None, id="a sign"),
    ],
)
def test_duration_in_seconds(text: str, seconds: float | None) -> None:
    assert durations.parse_seconds(text) == seconds


def test_a_duration_is_capped():
    assert durations.parse("1h30m") == timedelta(minutes=90)
    assert durations.parse("9" * 400 + "h") == timedelta(seconds=1e9)
    assert durations.parse("soon") is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["9" * 2_000_000, "9." * 1_000_000, "1m" * 500_000 + "!"])
def test_a_text_of_any_length_is_read_once(text: str) -> None:
    """Trying every digit again takes minutes."""
    assert durations.parse_seconds(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("1h30m", 5400.0, id="Go's notation"),
        pytest.param("1h 30m", 5400.0, id="spaces between"),
        pytest.param("90min", 5400.0, id="a longer unit"),
        pytest.param("soon", 0.0, id="none"),
    ],
)
def test_sum_of_parts(text: str, seconds: float) -> None:
    assert durations.sum_parts(text) == seconds
