"""managedseedset.defaults: one replica, rolled, ten revisions kept; templates stay as written."""

from typing import Any

import pytest

from tests.admission import mutated
from tests.builders import SEEDMANAGEMENT, make_object


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
            id="nothing that somebody chose",
        ),
    ],
)
def test_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    subject = make_object(SEEDMANAGEMENT, "ManagedSeedSet", "set", "garden", spec=given)
    result, _ = mutated("managedseedset.defaults", subject)
    assert result["spec"] == expected
    assert mutated("managedseedset.defaults", result)[0] == result
