import pytest

from webhook.server.deadline import LONGEST, UNSAID, budget, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("5s", 5.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="several parts"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("1.5s", 1.5, id="a fraction"),
        pytest.param("", None, id="nothing"),
        pytest.param("5", None, id="no unit"),
        pytest.param("s", None, id="no number"),
        pytest.param("5s!", None, id="something behind it"),
        pytest.param("-5s", None, id="a sign"),
    ],
)
def test_duration(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        pytest.param("timeout=5s", 4.75, id="what the API server says, less the way back"),
        pytest.param("a=b&timeout=1s", 0.9, id="among others"),
        pytest.param("timeout=10m", LONGEST - 0.25, id="never longer than any webhook may take"),
        pytest.param("", UNSAID - 0.25, id="unsaid"),
        pytest.param("timeout=soon", UNSAID - 0.25, id="unreadable"),
        pytest.param("timeout=0s", UNSAID - 0.25, id="nothing left to say"),
        pytest.param("mytimeout=1s", UNSAID - 0.25, id="another word"),
    ],
)
def test_budget(query: str, seconds: float) -> None:
    assert budget(query) == pytest.approx(seconds)
