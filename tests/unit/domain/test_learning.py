"""The aftermath of a window: replicas on their way down are not demand, everything else is."""

from datetime import UTC, datetime, timedelta

import pytest

from webhook.domain.learning import STILL, Aftermath, follow

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
FROM_FIFTY = Aftermath(50, NOW - timedelta(minutes=5))


@pytest.mark.parametrize(
    ("replicas", "at", "expected"),
    [
        pytest.param(50, NOW, FROM_FIFTY, id="still where it was"),
        pytest.param(49, NOW, Aftermath(49, NOW), id="one step down"),
        pytest.param(51, NOW, None, id="a rise is demand"),
        pytest.param(10, NOW, None, id="down to what the slots allow"),
        pytest.param(11, NOW, Aftermath(11, NOW), id="nearly down"),
        pytest.param(
            50, FROM_FIFTY.since + STILL - timedelta(seconds=1), FROM_FIFTY, id="not yet still"
        ),
        pytest.param(50, FROM_FIFTY.since + STILL, None, id="still for ten minutes"),
    ],
)
def test_replicas_after_a_floor(replicas: int, at: datetime, expected: Aftermath | None) -> None:
    assert follow(FROM_FIFTY, replicas, 10, at) == expected
