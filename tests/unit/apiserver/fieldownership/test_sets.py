"""The algebra of field sets."""

from hypothesis import given
from hypothesis import strategies as st

from webhook.apiserver.fieldownership import sets

_PATHS = st.frozensets(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple), max_size=8
)


def _members(fields: sets.FieldSet) -> set[tuple[str, ...]]:
    return {tuple(element.removeprefix("f:") for element in path) for path in sets.paths(fields)}


@given(_PATHS)
def test_a_set_holds_the_paths_it_is_made_of(paths):
    assert _members(sets.of(*paths)) == paths


@given(_PATHS, _PATHS)
def test_operations_are_those_of_sets_of_paths(left, right):
    one, other = sets.of(*left), sets.of(*right)
    assert _members(sets.union(one, other)) == left | right
    assert _members(sets.intersection(one, other)) == left & right
    assert _members(sets.difference(one, other)) == left - right


@given(_PATHS, _PATHS)
def test_a_recursive_difference_takes_what_is_below_along(left, right):
    expected = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert _members(sets.recursive_difference(sets.of(*left), sets.of(*right))) == expected


@given(_PATHS, _PATHS)
def test_operations_leave_their_operands_alone(left, right):
    one, other = sets.of(*left), sets.of(*right)
    for operation in (sets.union, sets.intersection, sets.difference, sets.recursive_difference):
        operation(one, other)
        assert (one, other) == (sets.of(*left), sets.of(*right))


def test_paths_are_written_as_in_messages():
    element = sets.key({"protocol": "TCP", "port": 80})
    path = (sets.field("spec"), sets.field("ports"), element, sets.field("name"))
    assert sets.written(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert sets.written((sets.field("finalizers"), sets.item("a/b"))) == '.finalizers[="a/b"]'
