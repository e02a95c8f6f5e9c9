import pytest

from webhook.server.deadline import DEFAULT_SECONDS, MAX_SECONDS, time_budget


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        pytest.param("timeout=5s", 4.75, id="the timeout of the API server, less the way back"),
        pytest.param("a=b&timeout=1s", 0.9, id="among others"),
        pytest.param(
            "timeout=10m", MAX_SECONDS - 0.25, id="never longer than any webhook may take"
        ),
        pytest.param("", DEFAULT_SECONDS - 0.25, id="unsaid"),
        pytest.param("timeout=soon", DEFAULT_SECONDS - 0.25, id="unreadable"),
        pytest.param("timeout=0s", DEFAULT_SECONDS - 0.25, id="no time left"),
        pytest.param("mytimeout=1s", DEFAULT_SECONDS - 0.25, id="another word"),
    ],
)
def test_time_budget(query: str, seconds: float) -> None:
    assert time_budget(query) == pytest.approx(seconds)
