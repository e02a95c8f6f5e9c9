import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.placement.distance import between, between_names


@pytest.mark.parametrize(
    ("region", "other", "expected"),
    [
        pytest.param("europe", "asia", 12, id="different names count twice per edit"),
        pytest.param("europe-west", "asia-west", 12, id="the same orientation adds nothing"),
        pytest.param("europe-west", "asia-east", 14, id="different orientations add two"),
        pytest.param("europe-west", "asia-:", 13, id="one orientation adds one"),
        pytest.param("europe-west", "europe-east", 2, id="only the orientation differs"),
        pytest.param("europe-west", "europe-:", 1, id="only one has an orientation"),
        pytest.param("europe-west", "europe-west", 0, id="equal names"),
        pytest.param("eu-west-1", "eu-central-1", 2, id="west and central"),
        pytest.param("eu-west-1", "eu-west-2", 2, id="another number"),
        pytest.param("eu-west-1", "us-east-1", 6, id="another continent and orientation"),
        pytest.param("southeastasia", "eastasia", 10, id="south is found before east"),
        pytest.param("northeurope", "westeurope", 2, id="orientation in front"),
    ],
)
def test_distance_by_name(region: str, other: str, expected: int) -> None:
    assert between_names(region, other) == expected
    assert between_names(other, region) == expected


def test_the_distance_is_larger_for_another_provider() -> None:
    assert between("eu-west-1", "aws", "eu-west-1", "aws") == 0
    assert between("eu-west-1", "aws", "eu-west-1", "gcp") == 2


_NAMES = st.text(alphabet="abew-1", max_size=8)


@given(_NAMES, _NAMES)
def test_distance_is_symmetric_and_zero_only_for_equal_names(left: str, right: str) -> None:
    assert between_names(left, right) == between_names(right, left)
    assert (between_names(left, right) == 0) == (left == right)
