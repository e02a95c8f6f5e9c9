"""Gardenlets: what is applied to the Shoot, the first access to the garden, and the deletion."""

import base64
from datetime import timedelta
from typing import Any

import pytest
import yaml

from tests.support.landscape_objects import raw_seed
from tests.support.managed_seed_garden import (
    GardenWithShootClusters,
    body_of,
    local,
    remote,
    remote_actions,
)
from tests.support.set_objects import make_hosted_shoot
from webhook.api import names
from webhook.api.core import CustomResourceDefinition, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import shoot_kinds
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Apply, Create, Delete, Patch, WriteRefusal

SECRET = kind_of_model(Secret)
DEFINITION = kind_of_model(CustomResourceDefinition)
VPA = shoot_kinds.VERTICAL_POD_AUTOSCALER
OURS = {names.MANAGED_BY: "espalier"}


@pytest.fixture
def garden() -> GardenWithShootClusters:
    return GardenWithShootClusters()


def registered(garden: GardenWithShootClusters, **status: Any) -> None:
    """Show what a gardenlet leaves behind when it registers its Seed."""
    seed = raw_seed("oak")
    seed["metadata"]["annotations"] = {names.MANAGED_SEED: "garden/oak"}
    seed["status"] |= status
    garden.put(seed)
    garden.put_there(SECRET, "gardenlet-kubeconfig", creation_timestamp="2026-02-01T00:00:00Z")


async def test_everything_that_a_gardenlet_needs_is_applied_in_order(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet()
    garden.remove_kubeconfig()
    waiting = garden.planned()
    assert waiting.requeue_after is not None
    assert remote(waiting) == []
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []")
    writes = remote(garden.planned())
    assert [write.kind.name for write in writes] == [
        "Namespace",
        "PriorityClass",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Secret",
        "Service",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Deployment",
    ]
    config = yaml.safe_load(body_of(writes, "ConfigMap")["data"]["config.yaml"])
    assert config["seedConfig"]["metadata"]["name"] == "oak"
    assert config["seedConfig"]["metadata"]["annotations"][names.MANAGED_SEED] == "garden/oak"
    assert config["seedConfig"]["spec"]["provider"]["region"] == "eu-west-1"
    assert config["resources"] == {"capacity": {"shoots": 20}}
    assert config["gardenClientConnection"]["qps"] == 100
    assert config["leaderElection"] == {"resourceNamespace": "garden"}
    assert writes == remote(garden.planned())


async def test_the_pods_name_nothing_that_is_not_applied(garden: GardenWithShootClusters) -> None:
    images = "images: []"
    files = {"imageVectorOverwrite": images, "componentImageVectorOverwrite": images}
    way = {"kubeconfig": "apiVersion: v1\nkind: Config"}
    config = {"gardenClientConnection": way, "seedClientConnection": way}
    await garden.plant_gardenlet(deployment=files, config=config, bootstrap="None")
    writes = remote(garden.planned())
    pod = body_of(writes, "Deployment")["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == body_of(writes, "PriorityClass")["metadata"]["name"]
    applied = {(write.kind.name, write.key.name) for write in writes}
    sources = {"configMap": ("ConfigMap", "name"), "secret": ("Secret", "secretName")}
    mounted = {
        (kind, volume[source][field])
        for source, (kind, field) in sources.items()
        for volume in pod["volumes"]
        if source in volume
    }
    assert len(mounted) == 5
    assert mounted <= applied
    text = body_of(writes, "ConfigMap", "gardenlet-config")["data"]["config.yaml"]
    assert yaml.safe_load(text)["gardenClientConnection"]["kubeconfig"] == (
        "/etc/gardenlet/kubeconfig-garden/kubeconfig"
    )
    mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounts["gardenlet-kubeconfig-garden"] == "/etc/gardenlet/kubeconfig-garden"
    environment = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert environment["IMAGEVECTOR_OVERWRITE"] == "/imagevector_overwrite/images_overwrite.yaml"


@pytest.mark.parametrize(
    ("deployment", "zones", "keys"),
    [
        pytest.param({"replicaCount": 1}, ["a", "b"], [], id="not a single one"),
        pytest.param({}, ["a"], ["kubernetes.io/hostname"], id="over nodes"),
        pytest.param(
            {"replicaCount": 3},
            ["a", "b"],
            ["kubernetes.io/hostname", "topology.kubernetes.io/zone"],
            id="over nodes and zones",
        ),
    ],
)
async def test_gardenlets_are_spread(
    garden: GardenWithShootClusters, deployment: Draft, zones: list[str], keys: list[str]
) -> None:
    config = {"seedConfig": {"spec": {"provider": {"zones": zones}}}}
    await garden.plant_gardenlet(deployment=deployment, config=config)
    pod = body_of(remote(garden.planned()), "Deployment")["spec"]["template"]["spec"]
    spread = pod.get("topologySpreadConstraints") or []
    assert [each["topologyKey"] for each in spread] == keys
    assert [each["minDomains"] for each in spread[1:]] == [2] * len(spread[1:])


@pytest.mark.parametrize(
    ("deployment", "image"),
    [
        pytest.param({"image": {"repository": "r", "tag": "v1"}}, "r:v1", id="tag"),
        pytest.param(
            {"image": {"repository": "r", "tag": "sha256:ab"}}, "r@sha256:ab", id="digest"
        ),
        pytest.param({"image": {"ref": "r:v2"}}, "r:v2", id="reference"),
    ],
)
async def test_the_image_is_what_the_managed_seed_names(
    garden: GardenWithShootClusters, deployment: Draft, image: str
) -> None:
    await garden.plant_gardenlet(deployment=deployment)
    pod = body_of(remote(garden.planned()), "Deployment")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == image


@pytest.mark.parametrize(
    ("env", "host"),
    [
        pytest.param([], "api.oak.example.org", id="the external name"),
        pytest.param(
            [{"name": "KUBERNETES_SERVICE_HOST", "value": "10.0.0.1"}], "10.0.0.1", id="as given"
        ),
    ],
)
async def test_the_gardenlet_reaches_its_api_server_by_one_name(
    garden: GardenWithShootClusters, env: list[Draft], host: str
) -> None:
    await garden.plant_gardenlet(deployment={"env": env})
    pod = body_of(remote(garden.planned()), "Deployment")["spec"]["template"]["spec"]
    hosts = [each for each in pod["containers"][0]["env"] if each["name"].endswith("_HOST")]
    assert hosts == [{"name": "KUBERNETES_SERVICE_HOST", "value": host}]


async def test_an_autoscaler_is_applied_where_it_is_defined(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet(deployment={"vpa": True})
    garden.put_there(DEFINITION, "verticalpodautoscalers.autoscaling.k8s.io")
    target = body_of(remote(garden.planned()), VPA.name)["spec"]["targetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gardenlet"}


async def test_an_autoscaler_that_is_not_defined_is_reported_and_the_gardenlet_deployed(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet(deployment={"vpa": True})
    kinds = [write.kind.name for write in remote(garden.planned())]
    assert "Deployment" in kinds
    assert VPA.name not in kinds
    registered(garden)
    await garden.settle()
    status, _, message = garden.condition(names.SEED_REGISTERED)
    assert status == "True"
    assert "does not define verticalpodautoscalers.autoscaling.k8s.io" in message
    garden.put_there(DEFINITION, "verticalpodautoscalers.autoscaling.k8s.io")
    assert VPA.name in [write.kind.name for write in remote(garden.planned())]


@pytest.mark.parametrize(
    ("labels", "is_deleted"),
    [
        pytest.param(OURS, True, id="ours"),
        pytest.param({}, False, id="somebody else's"),
    ],
)
async def test_an_autoscaler_that_is_no_longer_wanted_is_deleted(
    garden: GardenWithShootClusters, labels: dict[str, str], is_deleted: bool
) -> None:
    await garden.plant_gardenlet(deployment={"vpa": False})
    garden.put_there(VPA, "gardenlet-vpa", labels=labels)
    deleted = [write.kind for write in remote(garden.planned()) if isinstance(write, Delete)]
    assert deleted == ([VPA] if is_deleted else [])


@pytest.mark.parametrize("mechanism", ["BootstrapToken", "ServiceAccount"])
async def test_there_is_a_bootstrap_only_until_the_gardenlet_has_its_own_kubeconfig(
    garden: GardenWithShootClusters, mechanism: str
) -> None:
    await garden.plant_gardenlet(bootstrap=mechanism)
    name = "gardenlet-bootstrap-oak"
    garden.add_secret(name, token="psst")
    planned = garden.planned()
    made = [action.key.name for action in local(planned, Create)]
    assert [each[:16] for each in made] == ["bootstrap-token-"] * (mechanism == "BootstrapToken")
    assert body_of(remote(planned), "Secret")["metadata"]["name"].endswith("-bootstrap")
    registered(garden)
    await garden.settle()
    await garden.annotate(**{names.OPERATION: "reconcile"})
    del garden.api.objects[Secret, ObjectKey("garden", name)]
    planned = garden.planned()
    assert local(planned, Create) == []
    assert local(planned, Apply) == []
    writes = remote(planned)
    assert "Secret" not in [write.kind.name for write in writes]
    config = yaml.safe_load(body_of(writes, "ConfigMap")["data"]["config.yaml"])
    assert config["gardenClientConnection"]["kubeconfigSecret"]["name"] == "gardenlet-kubeconfig"


@pytest.mark.parametrize(
    ("operation", "expires", "created", "renews"),
    [
        pytest.param(None, timedelta(days=1), "", False, id="a valid certificate stays"),
        pytest.param(None, -timedelta(days=1), "", True, id="an expired one is replaced"),
        pytest.param(
            None, -timedelta(days=1), "now", False, id="a Secret that is younger is new already"
        ),
        pytest.param(
            "renew-kubeconfig", timedelta(days=1), "", True, id="a valid one is, on request"
        ),
        pytest.param("reconcile", timedelta(days=1), "", False, id="not with another operation"),
    ],
)
async def test_a_gardenlet_bootstraps_again_when_its_kubeconfig_must_be_renewed(
    garden: GardenWithShootClusters,
    operation: str | None,
    expires: timedelta,
    created: str,
    renews: bool,
) -> None:
    await garden.plant_gardenlet()
    now = garden.clock.now()
    registered(garden, clientCertificateExpirationTimestamp=format_time(now + expires))
    if created:
        garden.put_there(SECRET, "gardenlet-kubeconfig", creation_timestamp=format_time(now))
    await garden.annotate(**{names.OPERATION: operation})
    planned = garden.planned()
    deleted = [write for write in remote(planned) if isinstance(write, Delete)]
    expected = Delete(
        SECRET, ObjectKey("garden", "gardenlet-kubeconfig"), "uid-gardenlet-kubeconfig"
    )
    assert deleted == ([expected] if renews else [])
    assert len(local(planned, Create)) == renews


async def test_a_token_that_has_expired_is_prolonged(garden: GardenWithShootClusters) -> None:
    await garden.plant_gardenlet()
    await garden.settle()
    await garden.annotate(**{names.OPERATION: "reconcile"})
    assert [each.key.name for each in local(garden.planned(), Patch)] == ["oak"]
    await garden.clock.advance(24 * 3600 + 1)
    prolonged = local(garden.planned(), Patch)[0]
    assert prolonged.key.name.startswith("bootstrap-token-")
    assert isinstance(prolonged.change, dict)
    until = base64.b64decode(prolonged.change["data"]["expiration"]).decode()
    assert until == format_time(garden.clock.now() + timedelta(hours=24))


async def test_a_cluster_that_is_down_is_reported_and_the_seed_all_the_same(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet()
    garden.down = "no route to host"
    planned = await garden.settle()
    assert planned.requeue_after == 15
    assert garden.condition(names.SEED_REGISTERED)[1:] == (
        "ShootUnreachable",
        "the cluster of Shoot garden/oak cannot be reached: no route to host",
    )
    registered(garden, conditions=[])
    await garden.settle()
    status, _, message = garden.condition(names.SEED_REGISTERED)
    assert (status, "no route to host" in message) == ("True", True)
    assert garden.condition(names.SEED_READY)[0] == "False"


async def test_a_deployment_is_recorded_before_its_first_write(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet()
    planned = garden.planned()
    actions = planned.actions
    records = [
        number
        for number, action in enumerate(actions)
        if isinstance(action, Patch) and action.key.name == "oak"
    ]
    remotes = [number for number, action in enumerate(actions) if action in remote_actions(planned)]
    assert records[0] < remotes[0]
    assert remotes[-1] < records[-1]
    await garden.annotate(**{names.GARDENLET_APPLIED: "started"})
    assert len(remote(garden.planned())) == len(remotes)
    await garden.delete(ManagedSeed, "oak")
    await garden.settle_status()
    assert isinstance(remote(garden.planned())[0], Delete)


async def test_a_gardenlet_is_deleted_in_order(garden: GardenWithShootClusters) -> None:
    await garden.plant_gardenlet()
    garden.put_there(shoot_kinds.PRIORITY_CLASS, "gardener-system-critical", labels=OURS)
    await garden.annotate(**{names.GARDENLET_APPLIED: "sum 2026-03-01T12:00:00Z"})
    applied = {(write.kind.name, write.key) for write in remote(garden.planned())}
    await garden.delete(ManagedSeed, "oak")
    await garden.settle_status()
    assert garden.condition(names.SEED_REGISTERED)[:2] == ("False", "GardenletDeleting")
    planned = garden.planned()
    removed = remote_actions(planned)
    assert all(isinstance(action.write, Delete) for action in removed)
    assert [action.until_gone for action in removed] == [True, *[False] * (len(removed) - 1)]
    assert removed[0].kind.name == "Deployment"
    assert applied <= {(action.kind.name, action.key) for action in removed}
    assert planned.actions[-1].kind.name == "ManagedSeed"


async def test_a_priority_class_of_somebody_else_stays(garden: GardenWithShootClusters) -> None:
    await garden.plant_gardenlet()
    garden.put_there(shoot_kinds.PRIORITY_CLASS, "gardener-system-critical")
    await garden.annotate(**{names.GARDENLET_APPLIED: "sum 2026-03-01T12:00:00Z"})
    await garden.delete(ManagedSeed, "oak")
    await garden.settle_status()
    removed = remote(garden.planned())
    assert removed
    assert shoot_kinds.PRIORITY_CLASS not in [write.kind for write in removed]


@pytest.mark.parametrize(
    ("down", "reason", "why"),
    [
        pytest.param(
            "", "KubeconfigMissing", "Secret garden/oak.kubeconfig", id="without a kubeconfig"
        ),
        pytest.param("no route", "ShootUnreachable", "no route", id="with a cluster that is down"),
    ],
)
async def test_a_deletion_waits_until_the_gardenlet_can_be_deleted(
    garden: GardenWithShootClusters, down: str, reason: str, why: str
) -> None:
    await garden.plant_gardenlet()
    registered(garden)
    await garden.settle()
    garden.down = down
    if not down:
        garden.remove_kubeconfig()
    await garden.delete(ManagedSeed, "oak")
    planned = await garden.settle()
    assert planned.requeue_after == 15
    status, reported, message = garden.condition(names.SEED_REGISTERED)
    assert (status, reported) == ("False", reason)
    assert why in message
    assert message.endswith(
        "annotate the ManagedSeed with espalier.gardener.cloud/abandon-gardenlet=true"
    )
    assert garden.find(Seed, "oak") is not None
    await garden.annotate(**{names.ABANDON_GARDENLET: "false"})
    assert garden.planned().actions == ()
    await garden.annotate(**{names.ABANDON_GARDENLET: "true"})
    assert [action.kind.name for action in local(garden.planned(), Delete)] == ["Seed"]
    await garden.delete(Seed, "oak")
    planned = garden.planned()
    assert remote(planned) == []
    (last,) = local(planned, Patch)
    assert last.change == {"metadata": {"finalizers": []}}


async def test_a_deletion_goes_on_once_the_kubeconfig_is_restored(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet()
    registered(garden)
    await garden.settle()
    garden.remove_kubeconfig()
    await garden.delete(ManagedSeed, "oak")
    await garden.settle()
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []")
    assert [action.kind.name for action in local(garden.planned(), Delete)] == ["Seed"]


async def test_a_used_seed_is_reported_before_a_missing_kubeconfig(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet()
    registered(garden)
    await garden.settle()
    garden.put(make_hosted_shoot("hosted", "oak"))
    garden.remove_kubeconfig()
    await garden.delete(ManagedSeed, "oak")
    await garden.settle()
    assert garden.condition(names.SEED_REGISTERED)[1] == "SeedInUse"


@pytest.mark.parametrize("why", ["it was never deployed", "the Shoot is gone"])
async def test_a_deletion_without_a_kubeconfig_goes_on_if_there_is_no_gardenlet(
    garden: GardenWithShootClusters, why: str
) -> None:
    await garden.plant_gardenlet()
    if why == "the Shoot is gone":
        await garden.annotate(**{names.GARDENLET_APPLIED: "sum 2026-03-01T12:00:00Z"})
        await garden.delete(Shoot, "oak")
    garden.remove_kubeconfig()
    await garden.delete(ManagedSeed, "oak")
    planned = garden.planned()
    assert remote(planned) == []
    assert local(planned, Patch)[-1].change == {"metadata": {"finalizers": []}}


async def test_a_refused_deletion_is_reported(garden: GardenWithShootClusters) -> None:
    await garden.plant_gardenlet()
    await garden.annotate(**{names.GARDENLET_APPLIED: "sum 2026-03-01T12:00:00Z"})
    await garden.delete(ManagedSeed, "oak")
    await garden.settle_status()
    planned = garden.planned()
    assert planned.refused is not None
    (report,) = planned.refused(WriteRefusal(remote(planned)[0], "forbidden"))
    assert isinstance(report, Patch)
    assert "Deployment garden/gardenlet: forbidden" in str(report.change)


async def test_a_bootstrap_account_is_deleted_with_its_managed_seed(
    garden: GardenWithShootClusters,
) -> None:
    await garden.plant_gardenlet(bootstrap="ServiceAccount")
    made = local(garden.planned(), Apply)
    assert [action.kind.name for action in made] == [
        "ServiceAccount",
        "ClusterRoleBinding",
        "Secret",
    ]
    await garden.delete(ManagedSeed, "oak")
    taken = local(garden.planned(), Delete)
    assert {action.key for action in taken} == {action.key for action in made}
