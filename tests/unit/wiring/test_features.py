"""Each feature alone has all that it needs, and nothing that only others need."""

import json
from datetime import UTC, datetime

import pytest

from webhook.admission.decision import Operation, Request
from webhook.admission.engine import decide, table_of
from webhook.admission.table import POLICIES
from webhook.admission.webhook_configurations import NAME, WebhookTarget, configurations
from webhook.api.crds import definable
from webhook.api.kinds import KINDS, find_kind, kind_of_model
from webhook.cli.install.generate import permissions, roles
from webhook.cli.install.layout import Layout
from webhook.controllers.table import CONTROLLERS
from webhook.dev.landscapes import demo
from webhook.domain import features
from webhook.domain.features import ALL_FEATURES, FEATURE_NAMES, FEATURES, Feature, closure
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import ObjectKey
from webhook.settings import ROLES, load
from webhook.settingsfile import SettingsError
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot
from webhook.wiring import watched_kinds

ALONE = [pytest.param(closure([name]), id=name) for name in FEATURE_NAMES]
SERVICE = WebhookTarget(ObjectKey("espalier-system", "espalier"))


def layout_of(chosen: frozenset[Feature]) -> Layout:
    return Layout(features=chosen)


def test_every_policy_controller_and_kind_belongs_to_a_feature():
    policies = {name for parts in FEATURES.values() for name in parts.policies}
    assert policies == {policy.name for policy in POLICIES}
    controllers = {name for parts in FEATURES.values() for name in parts.controllers}
    assert controllers == {row.name for row in CONTROLLERS}
    for kind in definable(beside_gardener=False):
        assert features.needs(ALL_FEATURES, kind.model), kind.resource


@pytest.mark.parametrize(
    ("chosen", "closed"),
    [
        pytest.param({"seeds"}, {"seeds", "placement"}, id="what it requires is added"),
        pytest.param({"placement"}, {"placement"}, id="what requires it is not"),
        pytest.param({*FEATURE_NAMES}, {*FEATURE_NAMES}, id="all"),
    ],
)
def test_features_are_closed_over_what_they_require(chosen: set[Feature], closed: set[Feature]):
    assert closure(chosen) == closed
    assert load({"features": ",".join(sorted(chosen))}).options().features == closed


@pytest.mark.parametrize("name", FEATURE_NAMES)
def test_a_feature_names_all_kinds_of_its_policies_and_controllers(name: Feature):
    parts = FEATURES[name]
    of_controllers = {
        model for row in CONTROLLERS if row.name in parts.controllers for model in row.models
    }
    of_apis = set(watched_kinds._API_KINDS)
    assert of_controllers <= {*parts.reads, *of_apis}
    of_policies = {
        model for policy in POLICIES if policy.name in parts.policies for model in policy.models
    }
    assert of_policies <= {*parts.reads, *parts.writes}


@pytest.mark.parametrize("chosen", ALONE)
def test_every_watch_is_allowed_and_every_read_permission_is_used(chosen: frozenset[Feature]):
    layout = layout_of(chosen)
    settings = load({"features": ",".join(sorted(chosen))})
    granted = {
        (rule.group, rule.resource, roles.namespace_of(rule.scope, layout))
        for rule in permissions.granted(layout)
        if {"list", "watch"} <= set(rule.verbs)
    }
    watched = {
        (selection.kind.group, selection.kind.plural, selection.namespace)
        for selection in watched_kinds.selections(settings, NAME)
    }
    assert watched <= granted
    looked_up = {
        (kind.group, kind.plural)
        for kind in KINDS
        if any(kind.model in FEATURES[name].looks_up for name in chosen)
    }
    unused = {
        (group, plural)
        for group, plural, namespace in granted - watched
        if not namespace and (group, plural) not in looked_up
    }
    assert unused == set()


@pytest.mark.parametrize("chosen", ALONE)
def test_webhooks_are_registered_for_kinds_of_the_feature_only(chosen: frozenset[Feature]):
    settings = load({"features": ",".join(sorted(chosen))})
    needed = {kind.plural for kind in KINDS if features.needs(chosen, kind.model)}
    resources = {
        resource.partition("/")[0]
        for configuration in configurations(SERVICE, settings.options())
        for webhook in configuration["webhooks"]
        for rule in webhook["rules"]
        for resource in rule["resources"]
    }
    assert resources
    assert resources <= needed


@pytest.mark.parametrize("chosen", ALONE)
def test_policies_read_only_what_is_watched(chosen: frozenset[Feature]):
    """A policy that reads a kind which is not watched would raise an error."""
    options = load({"features": ",".join(sorted(chosen))}).options()
    state = ClusterState(watched_kinds.models(ROLES, chosen), options=options)
    snapshot = Snapshot(state, datetime(2026, 1, 1, tzinfo=UTC))
    decided = 0
    for item in demo.objects():
        kind = find_kind(item["apiVersion"], item["kind"])
        if kind is None:
            continue
        data = json.dumps(deep_copy(item), default=str).encode()
        metadata = item["metadata"]
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        writes: tuple[tuple[Operation, bytes | None], ...] = (
            ("CREATE", None),
            ("UPDATE", data),
            ("DELETE", data),
        )
        for operation, old in writes:
            new = None if operation == "DELETE" else data
            request = Request(uid="u", kind=kind, operation=operation, key=key, new=new, old=old)
            decide(request, snapshot, table_of(chosen))
            decided += 1
    assert decided > 100


def test_an_unknown_feature_is_an_error_that_names_the_known_ones():
    with pytest.raises(SettingsError) as caught:
        load({"features": "seeds,king"})
    for name in FEATURE_NAMES:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param({"features": ","}, "name at least one of admission", id="none"),
        pytest.param(
            {"features": "seeds", "roles": "nodegroups"},
            "the role nodegroups needs the feature node-groups",
            id="a role without its feature",
        ),
    ],
)
def test_features_that_cannot_run_are_errors(flags: dict[str, str], message: str):
    with pytest.raises(SettingsError, match=message):
        load(flags)


def test_without_placement_there_is_no_extender():
    assert load({"features": "admission"}).active_roles == ("admission", "controllers")
    assert load({"features": "seeds"}).active_roles == ROLES


def test_a_kind_of_one_feature_is_not_watched_for_another():
    shoots = kind_of_model(next(kind.model for kind in KINDS if kind.plural == "shoots"))
    chosen = closure(["scheduled-scaling"])
    found = watched_kinds.models(ROLES, chosen)
    assert shoots.model not in found
    assert len(found) < 8
