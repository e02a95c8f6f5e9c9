from pathlib import Path

import pytest
import yaml

from webhook.api.crds import definable
from webhook.cli.install.generate import bundle
from webhook.cli.install.layout import Layout

FOLDER = Path(__file__).parents[5] / "manifests"
KINDS = tuple(definable(beside_gardener=False))
PODS = [
    "PriorityClass", "PodDisruptionBudget", "Service", "NetworkPolicy", "ConfigMap", "Deployment",
]  # fmt: skip
ROLES = [
    "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Role",
    "RoleBinding", "ClusterRole", "ClusterRole",
]  # fmt: skip
SEEDS = ["Role", "RoleBinding"]
DEFINITION = "CustomResourceDefinition"


@pytest.mark.parametrize(
    ("layout", "kinds"),
    [
        pytest.param(
            Layout(),
            ["Namespace", "Namespace", DEFINITION, *ROLES[:-2], *SEEDS, *ROLES[-2:], *PODS],
            id="everything",
        ),
        pytest.param(
            Layout(beside_gardener=True, monitoring=True),
            ["Namespace", DEFINITION, *ROLES, *PODS, "ServiceMonitor", "PrometheusRule",
             "ConfigMap"],
            id="with monitoring",
        ),
        pytest.param(
            Layout(part="garden", beside_gardener=True),
            ["Namespace", DEFINITION, *ROLES],
            id="what a virtual garden gets",
        ),
        pytest.param(
            Layout(part="runtime"), ["Namespace", "ServiceAccount", *PODS], id="what runs the pods"
        ),
        pytest.param(
            Layout(beside_gardener=True, advertise_url="https://host:9443"),
            ["Namespace", DEFINITION, *ROLES],
            id="a server outside makes no pods",
        ),
        pytest.param(
            Layout(beside_gardener=True, advertise_url="https://host:9443", monitoring=True),
            ["Namespace", DEFINITION, *ROLES],
            id="and nothing that looks for their Service",
        ),
        pytest.param(
            Layout(part="garden", beside_gardener=True, monitoring=True),
            ["Namespace", DEFINITION, *ROLES],
            id="nor does a virtual garden",
        ),
        pytest.param(
            Layout(part="runtime", monitoring=True),
            ["Namespace", "ServiceAccount", *PODS, "ServiceMonitor", "PrometheusRule",
             "ConfigMap"],
            id="it goes where the pods are",
        ),
    ],
)  # fmt: skip
def test_objects_are_applied_in_this_order(layout: Layout, kinds: list[str]):
    assert [item["kind"] for item in bundle.objects(layout, KINDS[:1])] == kinds


def test_webhook_configurations_are_not_applied():
    kinds = {item["kind"] for item in bundle.objects(Layout(monitoring=True), KINDS)}
    assert not {kind for kind in kinds if "Webhook" in kind}


def test_yaml_is_read_back_unchanged():
    items = list(bundle.objects(Layout(monitoring=True), KINDS))
    assert list(yaml.safe_load_all(bundle.to_yaml(items))) == items


def test_every_file_but_the_webhooks_is_in_a_kustomization():
    files = bundle.files(Layout(), KINDS)
    listed = {
        str(Path(path).parent / resource)
        for path, text in files.items()
        if path.endswith("kustomization.yaml")
        for resource in yaml.safe_load(text)["resources"]
    }
    written = {path for path in files if path.endswith(".yaml") and "kustomization" not in path}
    assert written - listed == {"webhooks.yaml", "kube-scheduler/bridge.yaml"}
    engine = yaml.safe_load((FOLDER / "kube-scheduler" / "kustomization.yaml").read_text())
    assert "bridge.yaml" in engine["resources"]


def test_the_manifests_folder_is_current():
    files = bundle.files(Layout(), KINDS)
    present = {
        str(path.relative_to(FOLDER)): path.read_text()
        for path in FOLDER.rglob("*")
        if path.is_file()
    }
    for path, text in files.items():
        assert present.get(path) == text, f"{path} is out of date: run make manifests"
    stray = {path for path in present if path.startswith("crds/")} - set(files)
    assert not stray, "run make manifests"


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(Layout(), id="all"),
        pytest.param(Layout(part="garden"), id="garden"),
        pytest.param(Layout(part="runtime"), id="runtime"),
        pytest.param(Layout(advertise_url="https://host:9443"), id="a server outside"),
    ],
)
def test_files_hold_what_would_be_applied(layout: Layout):
    files = bundle.files(layout, KINDS)
    named = yaml.safe_load(files["kustomization.yaml"])["resources"]
    written = [item for path in named for item in yaml.safe_load_all(files[path])]
    wanted = [*bundle.objects(layout, KINDS)]
    assert sorted(map(str, written)) == sorted(map(str, wanted))
    assert ("monitoring/kustomization.yaml" in files) == layout.has_pods
    assert ("webhooks.yaml" in files) == layout.has_garden
