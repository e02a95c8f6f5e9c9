import pytest

from webhook.runtime.backoff import Backoff, Delays


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(1, 1.0, id="the first failure waits the first delay"),
        pytest.param(2, 2.0, id="each further one doubles it"),
        pytest.param(5, 16.0, id="and doubles it again"),
        pytest.param(6, 30.0, id="up to the limit"),
        pytest.param(10_000, 30.0, id="and never beyond, however many"),
    ],
)
def test_delay(failures: int, expected: float) -> None:
    assert Delays(first=1, limit=30, jitter=0).after(failures, chance=0.5) == expected


def test_jitter_only_lengthens_and_by_no_more_than_its_share() -> None:
    delays = Delays(first=1, limit=30, jitter=0.5)
    assert delays.after(1, chance=0.0) == 1.0
    assert delays.after(1, chance=1.0) == 1.5
    assert delays.after(10, chance=1.0) == 45.0


def test_keys_do_not_share_their_failures() -> None:
    backoff: Backoff[str] = Backoff(Delays(first=1, limit=8, jitter=0))
    assert [backoff.next("a") for _ in range(5)] == [1, 2, 4, 8, 8]
    assert backoff.next("b") == 1


def test_a_forgotten_key_starts_again_and_is_not_stored() -> None:
    backoff: Backoff[str] = Backoff(Delays(first=1, limit=8, jitter=0))
    backoff.next("a")
    backoff.next("a")
    assert backoff.failures("a") == 2
    backoff.forget("a")
    assert (backoff.failures("a"), len(backoff)) == (0, 0)
    assert backoff.next("a") == 1
