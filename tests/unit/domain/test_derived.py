"""Derived caches results by identity, for as long as their objects live."""

from hypothesis import given
from hypothesis import strategies as st

from webhook.api.cloudprofiles import CloudProfileSpec, MachineType
from webhook.api.projects import Quota
from webhook.domain.derived import Derived
from webhook.kube.meta import Metadata


class Source:
    """Something that is compared by identity."""

    def __init__(self, number: int) -> None:
        self.number = number

    def double(self) -> int:
        return self.number * 2


@given(st.lists(st.integers(0, 200), max_size=400))
def test_cached_results_equal_computed_ones(indexes: list[int]) -> None:
    sources = [Source(number) for number in range(201)]
    double = Derived(Source.double)
    assert [double(sources[each]) for each in indexes] == [each * 2 for each in indexes]


def test_results_are_cached_by_identity_and_not_by_equality() -> None:
    seen: list[str] = []

    def record_name(quota: Quota) -> None:
        seen.append(quota.metadata.name)

    derived = Derived(record_name)
    first, equal = (Quota(metadata=Metadata(name="one")) for _ in range(2))
    assert first == equal
    for source in (first, first, equal, first, equal):
        derived(source)
    assert seen == ["one", "one"]


def test_each_of_many_objects_is_computed_once() -> None:
    seen: list[int] = []

    def record_number(source: Source) -> None:
        seen.append(source.number)

    derived = Derived(record_number)
    sources = [Source(number) for number in range(5_000)]
    for _ in range(3):
        for source in sources:
            derived(source)
    assert seen == [*range(5_000)]


def test_results_are_dropped_with_their_objects_only() -> None:
    def read_names(offer: CloudProfileSpec) -> tuple[str, ...]:
        return tuple(each.name for each in offer.machine_types)

    names = Derived(read_names)
    kept = CloudProfileSpec(machine_types=(MachineType(name="stays"),))
    names(kept)
    for number in range(500):
        names(CloudProfileSpec(machine_types=(MachineType(name=f"replaced-{number}"),)))
    assert len(names) == 1
    assert names(kept) == ("stays",)


def test_a_reused_id_does_not_match_an_old_result() -> None:
    double = Derived(Source.double)
    assert [double(Source(number)) for number in range(500)] == [n * 2 for n in range(500)]
