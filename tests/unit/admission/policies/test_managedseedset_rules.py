"""managedseedset.rules: a ManagedSeedSet and its templates are valid."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import (
    CORE,
    make_managed_seed_set,
    make_object,
    make_seed_template,
    make_worker,
    merged,
)
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

TEMPLATE = "spec.template.spec"
CONFIG = f"{TEMPLATE}.gardenlet.config"
SEED = f"{CONFIG}.seedConfig"
SHOOT = "spec.shootTemplate"


def seed_set(**spec: Any) -> dict[str, Any]:
    return make_managed_seed_set(**spec)


def of_template(**spec: Any) -> dict[str, Any]:
    return seed_set(template={"spec": spec})


def of_config(**config: Any) -> dict[str, Any]:
    return of_template(gardenlet={"config": config})


def of_shoot(**spec: Any) -> dict[str, Any]:
    return seed_set(shootTemplate={"spec": spec})


def labelled_set(zones: str) -> dict[str, Any]:
    """A set whose seeds call themselves multi-zonal, on Shoots with these zones."""
    template = {"metadata": {"labels": {names.MULTI_ZONAL: "true"}}}
    return seed_set(
        shootTemplate={"spec": {"provider": {"workers": [make_worker(zones=zones)]}}},
        template={"spec": {"gardenlet": {"config": {"seedConfig": template}}}},
    )


def rolling(**update: Any) -> dict[str, Any]:
    return seed_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": update})


def annotated(name: str, value: str) -> dict[str, Any]:
    return merged(seed_set(), {"metadata": {"annotations": {name: value}}})


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(seed_set(), set(), id="one that works"),
        pytest.param(
            merged(seed_set(), {"metadata": {"namespace": "garden-dev"}}),
            {("metadata.namespace", "Invalid")},
            id="another namespace",
        ),
        pytest.param(seed_set(replicas=0), set(), id="no replicas"),
        pytest.param(seed_set(replicas=-1), {("spec.replicas", "Invalid")}, id="fewer than none"),
        pytest.param(
            seed_set(revisionHistoryLimit=-1),
            {("spec.revisionHistoryLimit", "Invalid")},
            id="a negative history",
        ),
        pytest.param(seed_set(maxParallel=1), set(), id="one at a time"),
        pytest.param(
            seed_set(maxParallel=0), {("spec.maxParallel", "Invalid")}, id="none at a time"
        ),
        pytest.param(seed_set(updateStrategy=None), set(), id="no strategy"),
        pytest.param(
            seed_set(updateStrategy={"type": ""}),
            {("spec.updateStrategy.type", "Required")},
            id="an empty strategy",
        ),
        pytest.param(
            seed_set(updateStrategy={"type": "OnDelete"}),
            {("spec.updateStrategy.type", "Invalid")},
            id="on deletion",
        ),
        pytest.param(
            seed_set(updateStrategy={"type": "Recreate"}),
            {("spec.updateStrategy.type", "NotSupported")},
            id="an unknown strategy",
        ),
        pytest.param(rolling(partition=0), set(), id="partition 0"),
        pytest.param(
            rolling(partition=-1),
            {("spec.updateStrategy.rollingUpdate.partition", "Invalid")},
            id="partition below 0",
        ),
        pytest.param(rolling(maxUnreadyShoots="100%"), set(), id="all shoots may be unready"),
        pytest.param(rolling(maxUnreadyShoots=0), set(), id="no shoot may be unready"),
        pytest.param(
            rolling(maxUnreadyShoots="101%"),
            {("spec.updateStrategy.rollingUpdate.maxUnreadyShoots", "Invalid")},
            id="more than all",
        ),
        pytest.param(
            rolling(maxUnreadyShoots=-1),
            {("spec.updateStrategy.rollingUpdate.maxUnreadyShoots", "Invalid")},
            id="less than none",
        ),
        pytest.param(annotated(names.MAX_UNREADY_SHOOTS, "10%"), set(), id="unready, as a twin"),
        pytest.param(
            annotated(names.MAX_UNREADY_SHOOTS, "some"),
            {(f"metadata.annotations[{names.MAX_UNREADY_SHOOTS}]", "Invalid")},
            id="unready, as a twin that the field would not allow",
        ),
        pytest.param(annotated(names.MAX_PARALLEL, "3"), set(), id="parallel, as a twin"),
        pytest.param(
            annotated(names.MAX_PARALLEL, "0"),
            {(f"metadata.annotations[{names.MAX_PARALLEL}]", "Invalid")},
            id="parallel, as a twin that the field would not allow",
        ),
        pytest.param(annotated(names.PAUSED, "true"), set(), id="paused, as a twin"),
        pytest.param(
            annotated(names.PAUSED, "yes"),
            {(f"metadata.annotations[{names.PAUSED}]", "NotSupported")},
            id="paused, as a twin that the field would not allow",
        ),
        pytest.param(
            seed_set(selector={"matchLabels": None}),
            {("spec.selector", "Invalid")},
            id="an empty selector",
        ),
        pytest.param(
            seed_set(
                selector={"matchExpressions": [{"key": "set", "operator": "Like", "values": []}]}
            ),
            {
                ("spec.selector", "Invalid"),
                ("spec.selector.matchExpressions[0].operator", "NotSupported"),
            },
            id="a bad selector",
        ),
        pytest.param(
            seed_set(selector={"matchLabels": {"set": "s", "not a key": "x"}}),
            {("spec.selector", "Invalid"), ("spec.selector.matchLabels", "Invalid")},
            id="a bad label in the selector",
        ),
        pytest.param(
            seed_set(
                selector={"matchExpressions": [{"key": "set", "operator": "Exists", "values": []}]}
            ),
            set(),
            id="a selector by existence",
        ),
        pytest.param(
            of_template(gardenlet={"bootstrap": ""}),
            {(f"{TEMPLATE}.gardenlet.bootstrap", "NotSupported")},
            id="an empty bootstrap",
        ),
        pytest.param(
            of_template(gardenlet={"config": {"apiVersion": "", "kind": ""}}),
            set(),
            id="a configuration without its title, which Gardener takes in sets",
        ),
        pytest.param(
            of_template(gardenlet={"config": {"kind": "Other"}}),
            {(f"{TEMPLATE}.gardenlet.config", "Invalid")},
            id="a configuration of another kind",
        ),
        pytest.param(
            of_template(
                gardenlet={
                    "bootstrap": None,
                    "mergeWithParent": None,
                    "config": {"gardenClientConnection": {"kubeconfig": "k"}},
                }
            ),
            set(),
            id="a kubeconfig where the template names no bootstrap",
        ),
        pytest.param(
            of_template(
                gardenlet={
                    "bootstrap": None,
                    "mergeWithParent": None,
                    "config": {"gardenClientConnection": {}},
                }
            ),
            {(f"{TEMPLATE}.gardenlet.config.gardenClientConnection.kubeconfig", "Required")},
            id="no kubeconfig where the template names no bootstrap",
        ),
        pytest.param(
            seed_set(selector={"matchLabels": {"set": "t"}}),
            {
                ("spec.template.metadata.labels", "Invalid"),
                ("spec.shootTemplate.metadata.labels", "Invalid"),
                (f"{SEED}.metadata.labels", "Invalid"),
            },
            id="labels that do not match",
        ),
        pytest.param(
            of_template(shoot={"name": "x"}),
            {(f"{TEMPLATE}.shoot", "Forbidden")},
            id="a shoot by name",
        ),
        pytest.param(
            of_config(seedConfig=None), {(SEED, "Required")}, id="no seed in the configuration"
        ),
        pytest.param(
            of_template(gardenlet={"config": None}), {(SEED, "Required")}, id="no configuration"
        ),
        pytest.param(
            of_template(gardenlet=None),
            {(f"{TEMPLATE}.gardenlet", "Required"), (SEED, "Required")},
            id="neither variant",
        ),
        pytest.param(
            of_template(seedTemplate=make_seed_template()),
            {(f"{TEMPLATE}.seedTemplate", "Forbidden")},
            id="both variants",
        ),
        pytest.param(
            of_template(gardenlet=None, seedTemplate=make_seed_template()),
            set(),
            id="the other variant",
        ),
        pytest.param(
            of_template(gardenlet=None, seedTemplate=make_seed_template(provider={}, taints=[])),
            {
                (f"{TEMPLATE}.seedTemplate.provider", "Forbidden"),
                (f"{TEMPLATE}.seedTemplate.taints", "Forbidden"),
            },
            id="fields one level too high, as in document 000",
        ),
        pytest.param(
            of_config(seedConfig={"spec": {"taints": [{"key": "a"}, {"key": "a"}]}}),
            {(f"{SEED}.spec.taints[1]", "Duplicate")},
            id="a bad seed",
        ),
        pytest.param(
            of_config(resources={"reserved": {"x": 1}}),
            {(f"{CONFIG}.resources.reserved.x", "Invalid")},
            id="a bad gardenlet",
        ),
        pytest.param(
            of_shoot(provider={"workers": []}),
            {(f"{SHOOT}.spec.provider.workers", "Invalid")},
            id="no workers",
        ),
        pytest.param(
            of_shoot(provider={"workers": [make_worker(zones="abc", maximum=2)]}),
            {(f"{SHOOT}.spec.provider.workers[0].maximum", "Forbidden")},
            id="fewer nodes than zones",
        ),
        pytest.param(
            of_shoot(
                kubernetes={"controlPlane": {"highAvailability": {"enabled": True}}},
            ),
            {
                (
                    f"{SHOOT}.spec.kubernetes.controlPlane.highAvailability.type",
                    "Required",
                )
            },
            id="bad availability",
        ),
        pytest.param(
            of_shoot(kubernetes={"clusterAutoscaler": {"sizingStrategy": "x"}}),
            {(f"{SHOOT}.spec.kubernetes.clusterAutoscaler.sizingStrategy", "NotSupported")},
            id="bad sizing",
        ),
        pytest.param(
            seed_set(shootTemplate={"metadata": {"annotations": {names.SIZING_STRATEGY: "x"}}}),
            {(f"{SHOOT}.metadata.annotations[{names.SIZING_STRATEGY}]", "NotSupported")},
            id="bad sizing in the template's twin",
        ),
        pytest.param(
            of_shoot(addons={"nginxIngress": {"enabled": True}}),
            {(f"{SHOOT}.spec.addons.nginxIngress.enabled", "Forbidden")},
            id="nginx on",
        ),
        pytest.param(
            merged(
                of_shoot(provider={"workers": [make_worker(zones="ab")]}),
                of_config(seedConfig={"metadata": {"labels": {names.MULTI_ZONAL: "true"}}}),
            ),
            set(),
            id="multi-zonal with three zones",
        ),
        pytest.param(
            labelled_set("ab"),
            {(f"{SEED}.metadata.labels[{names.MULTI_ZONAL}]", "Forbidden")},
            id="multi-zonal with two zones",
        ),
    ],
)
def test_one_set(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("managedseedset.rules", obj).refused == refused


def test_on_delete_is_rejected_by_name() -> None:
    obj = seed_set(updateStrategy={"type": "OnDelete"})
    assert "OnDelete is not supported" in validate("managedseedset.rules", obj).messages[0]


def named(name: str, *, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return merged(seed_set(**spec), {"metadata": {"name": name}, "status": status or {}})


@pytest.mark.parametrize(
    ("obj", "refused", "warned"),
    [
        pytest.param(named("crazy-botany"), False, False, id="the document's own example"),
        pytest.param(named("a" * 12), False, False, id="room for ordinals up to 99"),
        pytest.param(named("a" * 13), False, True, id="room for one digit only"),
        pytest.param(named("a" * 13, replicas=10), False, True, id="ten replicas have one digit"),
        pytest.param(named("a" * 13, replicas=11), True, False, id="eleven have two"),
        pytest.param(
            named("a" * 13, status={"nextReplicaNumber": 10, "replicas": 1}),
            False,
            True,
            id="the next would have two, but none is to come",
        ),
        pytest.param(
            named("a" * 13, replicas=2, status={"nextReplicaNumber": 10, "replicas": 1}),
            True,
            False,
            id="the next has two digits",
        ),
        pytest.param(named("a" * 14), True, False, id="no room at all"),
        pytest.param(named("a.b"), True, False, id="a dot"),
    ],
)
def test_replicas_have_names_that_shoots_can_have(
    obj: dict[str, Any], refused: bool, warned: bool
) -> None:
    result = validate("managedseedset.rules", obj)
    assert result.fields == ({"metadata.name"} if refused else set())
    assert result.warned == ({"metadata.name"} if warned else set())


def test_the_length_of_the_project_name_counts() -> None:
    project = make_object(CORE, "Project", "p", spec={"namespace": "garden"})
    result = validate("managedseedset.rules", named("a" * 18), around=[project])
    assert result.refused == set()


def test_the_configured_worker_rule_applies_to_templates() -> None:
    weaker = Options(admission=AdmissionOptions(worker_rule="system-components"))
    workers = [
        make_worker("big", "abc"),
        make_worker("small", "abc", maximum=1),
    ]
    obj = of_shoot(provider={"workers": workers})
    assert validate("managedseedset.rules", obj, options=weaker).refused == set()
    assert validate("managedseedset.rules", obj).fields == {
        f"{SHOOT}.spec.provider.workers[1].maximum"
    }


MULTI = {
    "kubernetes": {"controlPlane": {"highAvailability": {"enabled": True, "type": "multi-zone"}}}
}


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(seed_set(), seed_set(replicas=5), set(), id="replicas"),
        pytest.param(
            seed_set(selector={"matchLabels": {"other": "x"}}),
            seed_set(),
            {"spec.selector"},
            id="the selector",
        ),
        pytest.param(
            seed_set(revisionHistoryLimit=3),
            seed_set(),
            {"spec.revisionHistoryLimit"},
            id="the history limit",
        ),
        pytest.param(
            of_template(gardenlet={"bootstrap": "ServiceAccount"}),
            seed_set(),
            {f"{TEMPLATE}.gardenlet.bootstrap"},
            id="the bootstrap",
        ),
        pytest.param(
            of_template(gardenlet={"bootstrap": None}),
            seed_set(),
            {f"{TEMPLATE}.gardenlet.bootstrap"},
            id="a bootstrap that was left out: templates get no defaults",
        ),
        pytest.param(
            of_shoot(networking={"nodes": "10.9.0.0/16"}),
            seed_set(),
            {f"{SHOOT}.spec.networking.nodes"},
            id="the nodes' range",
        ),
        pytest.param(of_shoot(networking=None), seed_set(), set(), id="the nodes' range set"),
        pytest.param(
            of_shoot(**MULTI),
            seed_set(),
            {f"{SHOOT}.spec.kubernetes.controlPlane.highAvailability.type"},
            id="availability taken away",
        ),
        pytest.param(
            seed_set(),
            of_config(seedConfig={"metadata": {"labels": {names.MULTI_ZONAL: "false"}}}),
            {f"{SEED}.metadata.labels[{names.MULTI_ZONAL}]"},
            id="no longer multi-zonal",
        ),
        pytest.param(
            labelled_set("ab"), labelled_set("ab"), set(), id="an old label on too few zones"
        ),
        pytest.param(
            labelled_set("abc"),
            labelled_set("ab"),
            {f"{SEED}.metadata.labels[{names.MULTI_ZONAL}]"},
            id="an old label and a zone less",
        ),
        pytest.param(
            of_shoot(provider={"workers": [make_worker(zones="abc", maximum=2)]}),
            of_shoot(provider={"workers": [make_worker(zones="abc", maximum=2)]}),
            set(),
            id="an old violation unchanged",
        ),
    ],
)
def test_update(old: dict[str, Any], new: dict[str, Any], fields: set[str]) -> None:
    assert validate("managedseedset.rules", new, old).fields == fields


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, False, id="written out"),
        pytest.param({"maxSurge": None, "maxUnavailable": 0}, True, id="no surge"),
        pytest.param({"maxSurge": None, "maxUnavailable": None}, True, id="neither"),
        pytest.param({"maxSurge": None, "maxUnavailable": "0%"}, True, id="no surge and no node"),
        pytest.param({"maxSurge": None, "maxUnavailable": 1}, False, id="one at a time"),
        pytest.param({"maxSurge": 1, "maxUnavailable": None}, False, id="one more"),
    ],
)
def test_templates_need_max_surge_if_validation_is_strict(
    changes: dict[str, Any], refused: bool
) -> None:
    obj = of_shoot(provider={"workers": [merged(make_worker(), changes)]})
    strict = Options(admission=AdmissionOptions(strict_seeds=True))
    field = f"{SHOOT}.spec.provider.workers[0].maxUnavailable"
    assert validate("managedseedset.rules", obj).refused == set()
    result = validate("managedseedset.rules", obj, options=strict)
    assert result.refused == ({(field, "Invalid")} if refused else set())
