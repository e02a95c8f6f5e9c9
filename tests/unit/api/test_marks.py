"""The table of marks is complete."""

from webhook.api import names
from webhook.api.marks import BY_USERS, MARKS, ON_OUR_OBJECTS


def test_every_name_of_ours_is_a_mark_or_is_written_by_users_or_on_our_own_objects() -> None:
    ours = {
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith(names.PREFIX) and value != names.PREFIX
    }
    listed = {mark.name for mark in MARKS}
    assert ours <= listed | BY_USERS | ON_OUR_OBJECTS
    assert not listed & (BY_USERS | ON_OUR_OBJECTS)


def test_no_mark_is_listed_twice() -> None:
    rows = [(mark.name, mark.place, model) for mark in MARKS for model in mark.models]
    assert len({*rows}) == len(rows)
