"""Results are cached for the same subject, within their span, for the keys used last."""

from datetime import UTC, datetime, timedelta

from webhook.domain.scaling.result_cache import ResultCache, Span

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Counter:
    """Computes the length of a subject, right for ten seconds."""

    def __init__(self) -> None:
        self.computed = 0

    def __call__(self, subject: list[int], now: datetime) -> tuple[int, Span]:
        self.computed += 1
        return len(subject), Span(now, now + 10 * SECOND)


def test_a_result_is_computed_once_for_the_same_subject_within_its_span() -> None:
    counter, subject = Counter(), [1]
    results: ResultCache[str, list[int], int] = ResultCache(2)
    for seconds in (0, 9):
        assert results.get("a", subject, NOW + seconds * SECOND, counter) == 1
    assert counter.computed == 1
    for now in (NOW - SECOND, NOW + 9 * SECOND):
        results.get("a", subject, now, counter)
    assert counter.computed == 3


def test_an_equal_subject_is_another_one() -> None:
    counter = Counter()
    results: ResultCache[str, list[int], int] = ResultCache(2)
    assert [results.get("a", subject, NOW, counter) for subject in ([1], [1], [])] == [1, 1, 0]
    assert counter.computed == 3
    assert len(results) == 1


def test_the_key_that_was_not_used_for_the_longest_time_is_dropped() -> None:
    counter, subject = Counter(), [1]
    results: ResultCache[str, list[int], int] = ResultCache(2)
    for key in ("a", "b", "a", "c", "a"):
        results.get(key, subject, NOW, counter)
    assert (counter.computed, len(results)) == (3, 2)
    results.get("b", subject, NOW, counter)
    assert counter.computed == 4
