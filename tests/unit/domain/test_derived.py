"""What follows from an object is worked out once, and never for another object."""

from hypothesis import given
from hypothesis import strategies as st

from webhook.api.cloudprofiles import CloudProfileSpec, MachineType
from webhook.api.meta import Metadata
from webhook.api.projects import Quota
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
    seen: list[str] = []

    def note_name(quota: Quota) -> None:
        seen.append(quota.metadata.name)

    note = Derived(note_name)
    first, equal = (Quota(metadata=Metadata(name="one")) for _ in range(2))
    assert first == equal
    for source in (first, first, equal, first, equal):
        note(source)
    assert seen == ["one", "one"]


def test_a_large_landscape_is_worked_out_once_however_often_it_is_gone_through() -> None:
    seen: list[int] = []

    def note_number(source: Source) -> None:
        seen.append(source.number)

    note = Derived(note_number)
    sources = [Source(number) for number in range(5_000)]
    for _ in range(3):
        for source in sources:
            note(source)
    assert seen == [*range(5_000)]


def test_what_is_gone_is_forgotten_and_what_stays_is_not() -> None:
    def read_names(offer: CloudProfileSpec) -> tuple[str, ...]:
        return tuple(each.name for each in offer.machine_types)

    names = Derived(read_names)
    kept = CloudProfileSpec(machine_types=(MachineType(name="stays"),))
    names(kept)
    for number in range(500):
        names(CloudProfileSpec(machine_types=(MachineType(name=f"replaced-{number}"),)))
    assert len(names) == 1
    assert names(kept) == ("stays",)


def test_an_object_that_got_the_identity_of_one_that_is_gone_is_another() -> None:
    double = Derived(Source.double)
    assert [double(Source(number)) for number in range(500)] == [n * 2 for n in range(500)]
