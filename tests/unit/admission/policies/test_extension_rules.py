"""extension.rules: rules for all extension objects, whatever controller reconciles them."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_object, merged
from webhook.admission.table import POLICIES
from webhook.api.kinds import kind_of_model

MODELS = next(policy.models for policy in POLICIES if policy.name == "extension.rules")
KINDS = [kind_of_model(model) for model in MODELS]
DELETING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}}


def make(kind: Any, **spec: Any) -> dict[str, Any]:
    named = {} if identity(kind) in spec else {identity(kind): "aws"}
    return make_object(kind.api_version, kind.name, "x", "shoot--a--b", spec=named | spec)


def identity(kind: Any) -> str:
    return "dnsName" if kind.name == "DNSEntry" else "type"


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_kind(kind: Any) -> None:
    field = identity(kind)
    obj = make(kind)
    assert validate("extension.rules", obj).refused == set()
    unnamed = make(kind, **{field: ""})
    assert validate("extension.rules", unnamed).refused == {(f"spec.{field}", "Required")}
    other = make(kind, **{field: "gcp"})
    assert validate("extension.rules", other, obj).refused == {(f"spec.{field}", "Invalid")}
    assert validate("extension.rules", obj, obj).refused == set()


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_the_spec_of_a_deleting_object_is_frozen(kind: Any) -> None:
    old = merged(make(kind), DELETING)
    changed = merged(old, {"spec": {"secretRef": {"name": "other"}}})
    assert validate("extension.rules", changed, old).refused == {("spec", "Forbidden")}
    labelled = merged(old, {"metadata": {"labels": {"a": "b"}}})
    assert validate("extension.rules", labelled, old).refused == set()


POOL = next(kind for kind in KINDS if kind.name == "WorkerPool")


def pool(maximum: int, zones: Any = (), config: Any = None) -> dict[str, Any]:
    return make(POOL, minimum=0, maximum=maximum, zones=[*zones], providerConfig=config)


@pytest.mark.parametrize(
    ("obj", "old", "refused", "warned"),
    [
        pytest.param(pool(3, "abc"), None, False, False, id="a node for each zone"),
        pytest.param(pool(2, "abc"), None, True, False, id="fewer nodes than zones"),
        pytest.param(pool(0, "abc"), None, False, False, id="no nodes at all"),
        pytest.param(
            pool(1, config={"zones": ["a", "b"]}),
            None,
            True,
            False,
            id="zones in the provider's configuration, as document 001 has them",
        ),
        pytest.param(pool(1, config={"zones": "ab"}), None, False, False, id="zones of no list"),
        pytest.param(pool(1, config=5), None, False, False, id="an odd configuration"),
        pytest.param(pool(2, "abc"), pool(2, "abc"), False, True, id="an old violation"),
        pytest.param(pool(2, "abc"), pool(1, "abc"), True, False, id="a changed one"),
    ],
)
def test_worker_pools(
    obj: dict[str, Any], old: dict[str, Any] | None, refused: bool, warned: bool
) -> None:
    result = validate("extension.rules", obj, old)
    assert result.refused == ({("spec.maximum", "Forbidden")} if refused else set())
    assert result.warned == ({"spec.maximum"} if warned else set())
