"""What is result beside a real Gardener: only what it lacks, and quietly."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.comparison.differences import DIFFERENCES
from tests.support.admission import JANE, decide, make_request, validate
from tests.support.builders import make_seed, make_shoot, make_worker
from webhook.admission.decision import Decision, Finding, UserInfo
from webhook.admission.engine import PolicyTable
from webhook.admission.policy import Policy
from webhook.admission.table import POLICIES
from webhook.admission.webhook_configurations import WebhookTarget, configurations
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.domain.options import AdmissionOptions, Options, SchedulingOptions
from webhook.state.snapshot import Snapshot

BESIDE = Options(beside_gardener=True)
MULTI_ZONE = {names.HIGH_AVAILABILITY: '{"enabled":true,"type":"multi-zone"}'}
DOCS = Path(__file__).parents[3] / "docs" / "gardener.md"


def listed(heading: str) -> set[str]:
    """The names in the first column of a section's table."""
    section = DOCS.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_the_documentation_lists_the_policies_that_are_registered() -> None:
    ours = {policy.name for policy in POLICIES if policy.beside_gardener}
    assert listed("Policies that Espalier adds") == ours
    left = {policy.name for policy in POLICIES if not policy.beside_gardener}
    assert listed("Policies that are left to Gardener") == left - ours


def test_the_documentation_has_the_closed_list_of_differences() -> None:
    section = DOCS.read_text().partition("## Where admission differs\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(each.name, each.who, each.why) for each in DIFFERENCES]


@pytest.mark.parametrize(
    ("scheduler", "zones", "subresource", "fields"),
    [
        pytest.param("espalier", "a", "binding", {"spec.seedName"}, id="too few zones"),
        pytest.param("espalier", "abc", "binding", set(), id="zones enough"),
        pytest.param("default-scheduler", "a", "binding", set(), id="Gardener's own shoot"),
        pytest.param("espalier", "a", "", set(), id="not a binding: Gardener refuses that itself"),
    ],
)
def test_bindings(scheduler: str, zones: str, subresource: str, fields: set[str]) -> None:
    metadata = {"annotations": MULTI_ZONE}
    old = make_shoot(spec={"schedulerName": scheduler}, metadata=metadata)
    new = make_shoot(spec={"schedulerName": scheduler, "seedName": "seed"}, metadata=metadata)
    seed = make_seed(zones=zones)
    result = validate(
        "shoot.placement", new, old, around=[seed], options=BESIDE, subresource=subresource
    )
    assert result.fields == fields


LABELLED = {"metadata": {"labels": {names.MULTI_ZONAL: "false"}}}
TOLERANT = {names.HIGH_AVAILABILITY: '{"enabled":true,"type":"multi-zone","failureTolerance":2}'}
PINNED = {"controlPlane": {"zones": ["x"]}}
GARDENERS = replace(BESIDE, scheduling=SchedulingOptions(profile="gardener"))


@pytest.mark.parametrize(
    ("annotations", "spec", "seed", "zones", "by_default", "as_gardener"),
    [
        pytest.param(MULTI_ZONE, {}, {}, "ab", True, True, id="too few zones"),
        pytest.param(MULTI_ZONE, {}, LABELLED, "abc", True, False, id="the label is false"),
        pytest.param(TOLERANT, {}, {}, "abc", True, False, id="zones for one failure"),
        pytest.param(MULTI_ZONE, PINNED, {}, "abc", True, False, id="pinned by a multi-zone one"),
        pytest.param({}, PINNED, {}, "abc", True, True, id="pinned by another"),
    ],
)
def test_bindings_are_validated_by_the_rules_of_the_profile(
    annotations: dict[str, str],
    spec: dict[str, Any],
    seed: dict[str, Any],
    zones: str,
    by_default: bool,
    as_gardener: bool,
) -> None:
    wanted = {"schedulerName": "espalier", **spec}
    old = make_shoot(spec=wanted, metadata={"annotations": annotations})
    new = make_shoot(spec={**wanted, "seedName": "seed"}, metadata={"annotations": annotations})
    around = [make_seed(zones=zones, **seed)]
    for options, refused in ((BESIDE, by_default), (GARDENERS, as_gardener)):
        result = validate(
            "shoot.placement", new, old, around=around, options=options, subresource="binding"
        )
        assert bool(result.fields) is refused


@pytest.mark.parametrize(
    ("user", "options", "warns"),
    [
        pytest.param(JANE, BESIDE, True, id="a person"),
        pytest.param(
            UserInfo(username="system:serviceaccount:garden:gardener-controller-manager"),
            *(BESIDE, False),
            id="Gardener's controllers",
        ),
        pytest.param(
            UserInfo(username="gardener.cloud:system:seed:s"), BESIDE, False, id="a gardenlet"
        ),
        pytest.param(
            UserInfo(username="system:serviceaccount:garden:x"), Options(), True, id="no Gardener"
        ),
    ],
)
def test_who_gets_warnings_about_stored_violations(
    user: UserInfo, options: Options, warns: bool
) -> None:
    pools = [make_worker(zones="abc", maximum=2)]
    old = make_shoot(workers=pools)
    new = make_shoot(workers=pools, spec={"purpose": "production"})
    decision = decide("validate", "shoot.workers", make_request(new, old, user=user), (), options)
    assert decision.allowed
    assert bool(decision.warnings) is warns


MANAGER = UserInfo(username="system:serviceaccount:garden:gardener-controller-manager")
WARNING = replace(BESIDE, admission=AdmissionOptions(modes={"shoot.scheduler": "warn"}))
ASKING = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "garden-dev", "labels": {names.SCHEDULER_NAMESPACE: "true"}},
}
MISSHAPEN = {**make_shoot(), "spec": {"provider": {"workers": "none"}}}


@pytest.mark.parametrize(("user", "warns"), [(JANE, True), (MANAGER, False)])
def test_controllers_get_no_warnings_of_mutators(user: UserInfo, warns: bool) -> None:
    request = make_request(make_shoot(), user=user)
    decision = decide("mutate", "shoot.scheduler", request, [ASKING], WARNING)
    assert bool(decision.warnings) is warns
    assert [outcome.verdict for outcome in decision.outcomes] == ["warn"]


@pytest.mark.parametrize(("user", "warns"), [(JANE, True), (MANAGER, False)])
def test_controllers_get_no_warnings_about_malformed_objects(user: UserInfo, warns: bool) -> None:
    lenient = replace(BESIDE, admission=AdmissionOptions(modes={"shoot.workers": "warn"}))
    request = make_request(MISSHAPEN, make_shoot(), user=user)
    decision = decide("validate", "shoot.workers", request, (), lenient)
    assert decision.allowed
    assert bool(decision.warnings) is warns


@pytest.mark.parametrize(("subresource", "warns"), [("", True), ("status", False)])
def test_status_updates_get_no_warnings(subresource: str, warns: bool) -> None:
    policy = Policy(
        name="wordy",
        models=(Shoot,),
        operations=("UPDATE",),
        subresources=("", "status"),
        validate=lambda _request, _snapshot: [Finding.warning("status", "as you like")],
        why="test",
        beside_gardener=True,
    )
    request = make_request(make_shoot(), make_shoot(), subresource=subresource)
    decision = PolicyTable([policy]).validate(request, Snapshot.of([], options=BESIDE))
    assert isinstance(decision, Decision)
    assert bool(decision.warnings) is warns


def test_controllers_get_denials() -> None:
    request = make_request(MISSHAPEN, make_shoot(), user=MANAGER)
    decision = decide("validate", "shoot.workers", request, (), BESIDE)
    assert not decision.allowed


def test_our_scheduler_is_set_only_in_labelled_namespaces() -> None:
    on = Options(
        beside_gardener=True, admission=AdmissionOptions(modes={"shoot.scheduler": "deny"})
    )
    mutating, _ = configurations(WebhookTarget(None, url="https://host"), on)
    shoots = [each for each in mutating["webhooks"] if each["name"].startswith("shoots.")]
    selected = shoots[0]["namespaceSelector"]["matchExpressions"][0]
    assert selected == {"key": names.SCHEDULER_NAMESPACE, "operator": "Exists"}
    assert shoots[0]["rules"][0]["operations"] == ["CREATE"]


def test_the_webhook_of_our_defaults_matches_every_namespace() -> None:
    on = Options(admission=AdmissionOptions(modes={"shoot.scheduler": "deny"}))
    mutating, _ = configurations(WebhookTarget(None, url="https://host"), on)
    shoots = [each for each in mutating["webhooks"] if each["name"].startswith("shoots.")]
    assert shoots[0]["namespaceSelector"]["matchExpressions"][0]["operator"] == "NotIn"
