"""The quality-of-service class of a Pod."""

import pytest

from webhook.dev.apiserver.builtin import qos


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="no requests or limits"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="a request"),
        pytest.param(
            {"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits of cpu and memory"
        ),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="a limit of cpu only"),
    ],
)
def test_qos_class(resources, expected):
    assert qos.qos_class({"containers": [{"resources": resources}]}) == expected
