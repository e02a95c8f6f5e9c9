from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.timestamps import TimestampError, format_micro_time, format_time, parse_time


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("2026-01-31T22:00:00Z", (2026, 1, 31, 22), id="UTC"),
        pytest.param("2026-01-31t22:00:00z", (2026, 1, 31, 22), id="small letters"),
        pytest.param("2026-01-31T23:30:00+01:30", (2026, 1, 31, 22), id="an offset"),
        pytest.param("2026-01-31T22:00:00.000001Z", (2026, 1, 31, 22, 0, 0, 1), id="microseconds"),
        pytest.param("2026-01-31T22:00:00.0000019Z", (2026, 1, 31, 22, 0, 0, 1), id="finer ones"),
    ],
)
def test_parse(text: str, instant: tuple[int, int, int]):
    assert parse_time(text) == datetime(*instant, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-31", "2026-01-31T22:00:00", "2026-01-31 22:00:00Z", "20260131T220000Z",
     "2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z", "0001-01-01T00:00:00+23:00"],
)  # fmt: skip
def test_other_text_is_refused(text: str):
    with pytest.raises(TimestampError, match="write it like"):
        parse_time(text)


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1000, 1, 1)))  # noqa: DTZ001
def test_a_formatted_time_parses_to_the_same_value(instant: datetime):
    assert parse_time(format_micro_time(instant)) == instant
    assert parse_time(format_time(instant)) == instant.replace(microsecond=0)
