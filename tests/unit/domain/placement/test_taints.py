import pytest

from webhook.api.seeds import SeedTaint
from webhook.api.shoots import Toleration
from webhook.domain.placement import taints

Pair = tuple[str, str | None]


@pytest.mark.parametrize(
    ("tainted", "tolerated", "expected"),
    [
        pytest.param([], [], True, id="no taints"),
        pytest.param([], [("a", None)], True, id="nothing to tolerate"),
        pytest.param([("a", None)], [], False, id="no tolerations"),
        pytest.param([("a", None)], [("a", None)], True, id="key without value"),
        pytest.param([("a", None)], [("b", None)], False, id="another key"),
        pytest.param([("a", None)], [("a", "x")], True, id="any value covers a taint without one"),
        pytest.param([("a", "x")], [("a", None)], False, id="no value does not cover one"),
        pytest.param([("a", "x")], [("a", "x")], True, id="same value"),
        pytest.param([("a", "x")], [("a", "y")], False, id="another value"),
        pytest.param([("a", "")], [("a", None)], False, id="an empty value is a value"),
        pytest.param([("a", None), ("b", None)], [("a", None)], False, id="more taints than that"),
        pytest.param(
            [("a", None), ("b", "x")], [("b", "x"), ("a", None)], True, id="all in any order"
        ),
        pytest.param([("a", "x")], [("a", "x"), ("a", "y")], False, id="the later one wins"),
        pytest.param(
            [("a", "x"), ("a", "x")], [("a", "x")], False, id="taints are counted as written"
        ),
        pytest.param([("a", "x")], [("b", None), ("a", "x")], True, id="one of several"),
    ],
)
def test_tolerated(tainted: list[Pair], tolerated: list[Pair], expected: bool) -> None:
    tolerations = taints.read([Toleration(key=key, value=value) for key, value in tolerated])
    found = taints.tolerates(
        tolerations, [SeedTaint(key=key, value=value) for key, value in tainted]
    )
    assert found is expected
