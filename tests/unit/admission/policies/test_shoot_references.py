"""shoot.references: objects that a shoot newly refers to exist."""

from typing import Any

import pytest

from tests.support.admission import make_request, read, validate
from tests.support.builders import CORE, make_object, make_shoot
from webhook.admission.decision import Needs
from webhook.admission.engine import PolicyTable
from webhook.admission.table import POLICIES
from webhook.api.projects import ExposureClass
from webhook.domain.options import AdmissionOptions, Options
from webhook.kube.meta import ObjectKey
from webhook.state.live_reads import LiveGet
from webhook.state.snapshot import Snapshot

ON = Options(admission=AdmissionOptions(modes={"shoot.references": "deny"}))
SECURITY = "security.gardener.cloud/v1alpha1"
CLASS = "spec.exposureClassName"
THERE = [
    make_object(SECURITY, "CredentialsBinding", "there", "garden-dev"),
    make_object(CORE, "SecretBinding", "there", "garden-dev"),
    make_object(CORE, "ExposureClass", "there", handler="h"),
]


@pytest.mark.parametrize("field", ["credentialsBindingName", "secretBindingName", CLASS[5:]])
@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        pytest.param(None, {}, False, id="none"),
        pytest.param(None, "there", False, id="one that is there"),
        pytest.param(None, "nothing", True, id="one that is not"),
        pytest.param("there", "nothing", True, id="changed to one that is not"),
        pytest.param("nothing", "nothing", False, id="gone since"),
        pytest.param("nothing", {}, False, id="not named any more"),
    ],
)
def test_references(field: str, before: str | None, after: Any, refused: bool) -> None:
    old = make_shoot(spec={field: before}) if before else None
    new = make_shoot(spec={field: after} if after else {})
    result = validate("shoot.references", new, old, around=THERE, options=ON)
    assert result.refused == ({(f"spec.{field}", "Denied")} if refused else set())


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({}, False, id="a shoot without selectors"),
        pytest.param({"seedSelector": {"matchLabels": {"a": "b"}}}, False, id="the same label"),
        pytest.param({"seedSelector": {"matchLabels": {"a": "c"}}}, True, id="another value"),
        pytest.param({"seedSelector": {"matchLabels": {"b": "c"}}}, False, id="another label"),
        pytest.param({"tolerations": [{"key": "u"}]}, False, id="another toleration"),
        pytest.param({"tolerations": [{"key": "t"}]}, True, id="its toleration again"),
    ],
)
def test_an_exposure_class_and_the_fields_of_a_new_shoot(
    spec: dict[str, Any], refused: bool
) -> None:
    scheduling = {"seedSelector": {"matchLabels": {"a": "b"}}, "tolerations": [{"key": "t"}]}
    chosen = make_object(CORE, "ExposureClass", "open", handler="h", scheduling=scheduling)
    shoot = make_shoot(spec={"exposureClassName": "open", **spec})
    result = validate("shoot.references", shoot, around=[chosen], options=ON)
    assert result.refused == ({(CLASS, "Denied")} if refused else set())
    stored = make_shoot(spec=spec)
    assert validate("shoot.references", shoot, stored, around=[chosen], options=ON).refused == set()


def test_a_class_that_is_not_cached_is_read_live() -> None:
    snapshot = Snapshot.of([read(each) for each in THERE], options=ON)
    request = make_request(make_shoot(spec={"exposureClassName": "late"}))
    table = PolicyTable(row for row in POLICIES if row.name == "shoot.references")
    expected = LiveGet(ExposureClass, ObjectKey("", "late"))
    assert table.validate(request, snapshot) == Needs((expected,))
