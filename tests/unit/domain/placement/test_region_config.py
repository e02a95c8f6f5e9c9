import pytest

from webhook.domain.placement.region_config import RegionConfigError, distances, errors, profiles


def test_names_of_cloud_profiles_are_trimmed() -> None:
    assert profiles(" aws, gcp ,,local") == ("aws", "gcp", "local")
    assert profiles("") == ()


def test_the_own_region_is_at_distance_zero_unless_listed() -> None:
    assert distances({"a": "b: 5\nc: 7"}, "a") == {"a": 0, "b": 5, "c": 7}
    assert distances({"a": "a: 3\nb: 1"}, "a") == {"a": 3, "b": 1}
    assert distances({"a": "{}"}, "a") == {"a": 0}


def test_unknown_region_is_not_in_the_table() -> None:
    assert distances({"a": "b: 5"}, "b") is None
    assert distances({"a": ""}, "a") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("b: [", id="not YAML"),
        pytest.param("- b", id="a list"),
        pytest.param("b: far", id="a word"),
        pytest.param('b: "5"', id="a number in quotes"),
        pytest.param("b: true", id="a boolean"),
        pytest.param("b: 1.5", id="a fraction"),
        pytest.param("1: 5", id="a number as region"),
    ],
)
def test_malformed_tables_raise_with_the_region(text: str) -> None:
    with pytest.raises(RegionConfigError, match=r"data\[a\]"):
        distances({"a": text}, "a")
    assert len(errors({"a": text, "b": "c: 1"})) == 1


def test_a_malformed_entry_does_not_affect_the_others() -> None:
    assert distances({"a": "b: [", "b": "a: 4"}, "b") == {"b": 0, "a": 4}
