"""managedseedset.defaults: one replica, RollingUpdate, ten revisions; templates stay unchanged."""

from typing import Any

import pytest

from tests.support.admission import mutate
from tests.support.builders import SEEDMANAGEMENT, make_object


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {},
            {
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate"},
            },
            id="everything",
        ),
        pytest.param(
            {"updateStrategy": {"rollingUpdate": {}}},
            {
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
            id="a partition where a rolling update is given",
        ),
        pytest.param(
            {
                "replicas": 0,
                "revisionHistoryLimit": 0,
                "updateStrategy": {"type": "X", "rollingUpdate": {"partition": 2}},
                "template": {"spec": {"gardenlet": {}}},
            },
            {
                "replicas": 0,
                "revisionHistoryLimit": 0,
                "updateStrategy": {"type": "X", "rollingUpdate": {"partition": 2}},
                "template": {"spec": {"gardenlet": {}}},
            },
            id="fields that are set stay",
        ),
    ],
)
def test_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    obj = make_object(SEEDMANAGEMENT, "ManagedSeedSet", "set", "garden", spec=given)
    result, _ = mutate("managedseedset.defaults", obj)
    assert result["spec"] == expected
    assert mutate("managedseedset.defaults", result)[0] == result
