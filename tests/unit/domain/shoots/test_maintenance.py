"""The maintenance window of a Shoot."""

from datetime import UTC, datetime

import pytest

from tests.support.admission import read
from tests.support.builders import make_shoot
from webhook.api.shoots import Shoot
from webhook.domain.shoots import maintenance


def shoot(**spec: object) -> Shoot:
    found = read(make_shoot(spec={"maintenance": spec} if spec else {}))
    assert isinstance(found, Shoot)
    return found


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("begin", "end", "now", "expected"),
    [
        pytest.param("220000+0000", "230000+0000", at(1, 12), at(1, 22), id="later today"),
        pytest.param("220000+0000", "230000+0000", at(1, 22, 30), at(1, 22, 30), id="open"),
        pytest.param("220000+0000", "230000+0000", at(1, 23), at(2, 22), id="just closed"),
        pytest.param("230000+0000", "010000+0000", at(2, 0, 30), at(2, 0, 30), id="over midnight"),
        pytest.param("230000+0000", "010000+0000", at(2, 1), at(2, 23), id="over, until tonight"),
        pytest.param("000000+0100", "010000+0100", at(1, 12), at(1, 23), id="in another zone"),
        pytest.param("100000", "110000", at(1, 12), None, id="without a zone"),
        pytest.param("250000+0000", "110000+0000", at(1, 12), None, id="no time of day"),
    ],
)
def test_opens(begin: str, end: str, now: datetime, expected: datetime | None) -> None:
    window = {"begin": begin, "end": end}
    assert maintenance.next_opening(shoot(timeWindow=window), now) == expected


def test_without_a_window_nothing_opens() -> None:
    assert maintenance.next_opening(shoot(), at(1, 1)) is None
    assert maintenance.next_opening(shoot(confineSpecUpdateRollout=True), at(1, 1)) is None


def test_whether_changes_are_confined_to_the_window() -> None:
    assert not maintenance.is_confined(shoot())
    assert maintenance.is_confined(shoot(confineSpecUpdateRollout=True))
