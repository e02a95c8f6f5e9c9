"""What follows from an object is worked out once, and never for another object."""

from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.derived import Derived


class Source:
    """Something that is compared by identity."""

    def __init__(self, number: int) -> None:
        self.number = number

    def double(self) -> int:
        return self.number * 2


@given(st.lists(st.integers(0, 200), max_size=400))
def test_what_is_remembered_is_what_would_be_worked_out(asked: list[int]) -> None:
    sources = [Source(number) for number in range(201)]
    double = Derived(Source.double)
    assert [double(sources[each]) for each in asked] == [each * 2 for each in asked]


def test_the_same_object_is_worked_out_once_and_an_equal_one_by_itself() -> None:
    seen: list[list[int]] = []
    note = Derived(seen.append)
    first, equal = [1], [1]
    for source in (first, first, equal, first):
        note(source)
    assert [each is equal for each in seen] == [False, True]


def test_an_object_that_got_the_identity_of_one_that_is_gone_is_another() -> None:
    double = Derived(Source.double)
    assert [double(Source(number)) for number in range(500)] == [n * 2 for n in range(500)]
