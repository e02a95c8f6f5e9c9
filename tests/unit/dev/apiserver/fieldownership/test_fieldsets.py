"""The algebra of field sets."""

from hypothesis import given
from hypothesis import strategies as st

from webhook.dev.apiserver.fieldownership import fieldsets

_PATHS = st.frozensets(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple), max_size=8
)


def _members(fields: fieldsets.FieldSet) -> set[tuple[str, ...]]:
    return {
        tuple(element.removeprefix("f:") for element in path) for path in fieldsets.paths(fields)
    }


@given(_PATHS)
def test_a_set_has_the_paths_it_is_made_from(paths):
    assert _members(fieldsets.from_paths(*paths)) == paths


@given(_PATHS, _PATHS)
def test_operations_equal_those_of_sets_of_paths(left, right):
    one, other = fieldsets.from_paths(*left), fieldsets.from_paths(*right)
    assert _members(fieldsets.union(one, other)) == left | right
    assert _members(fieldsets.intersection(one, other)) == left & right
    assert _members(fieldsets.difference(one, other)) == left - right


@given(_PATHS, _PATHS)
def test_a_recursive_difference_removes_children(left, right):
    expected = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert (
        _members(
            fieldsets.recursive_difference(
                fieldsets.from_paths(*left), fieldsets.from_paths(*right)
            )
        )
        == expected
    )


@given(_PATHS, _PATHS)
def test_operations_do_not_change_their_operands(left, right):
    one, other = fieldsets.from_paths(*left), fieldsets.from_paths(*right)
    for operation in (
        fieldsets.union,
        fieldsets.intersection,
        fieldsets.difference,
        fieldsets.recursive_difference,
    ):
        operation(one, other)
        assert (one, other) == (fieldsets.from_paths(*left), fieldsets.from_paths(*right))


def test_paths_are_formatted_for_messages():
    element = fieldsets.key({"protocol": "TCP", "port": 80})
    path = (fieldsets.field("spec"), fieldsets.field("ports"), element, fieldsets.field("name"))
    assert fieldsets.format_path(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert (
        fieldsets.format_path((fieldsets.field("finalizers"), fieldsets.item("a/b")))
        == '.finalizers[="a/b"]'
    )
