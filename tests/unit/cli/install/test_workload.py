from typing import Any

import pytest

from webhook.cli.install import workload
from webhook.cli.install.layout import Layout
from webhook.settings import load


def pod(layout: Layout) -> dict[str, Any]:
    spec: dict[str, Any] = workload.deployment(layout)["spec"]["template"]["spec"]
    return spec


def test_three_replicas_of_which_none_is_missed_during_an_update():
    spec = workload.deployment(Layout())["spec"]
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_the_pods_keep_to_the_restricted_standard():
    spec = pod(Layout())
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]


def test_there_is_no_limit_on_the_processor():
    (container,) = pod(Layout())["containers"]
    assert set(container["resources"]["limits"]) == {"memory"}


def test_probes_ask_the_plain_port():
    (container,) = pod(Layout())["containers"]
    paths = {
        name: container[name]["httpGet"]
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert paths == {
        "startupProbe": {"path": "/healthz", "port": "http"},
        "livenessProbe": {"path": "/healthz", "port": "http"},
        "readinessProbe": {"path": "/readyz", "port": "http"},
    }


def test_the_selector_holds_no_label_that_changes():
    selectors = [
        workload.deployment(Layout())["spec"]["selector"]["matchLabels"],
        workload.disruption_budget(Layout())["spec"]["selector"]["matchLabels"],
        workload.network_policy(Layout())["spec"]["podSelector"]["matchLabels"],
        workload.service(Layout())["spec"]["selector"],
    ]
    wanted = {"app.kubernetes.io/name": "espalier", "app.kubernetes.io/component": "server"}
    assert selectors == [wanted] * 4
    labels = workload.deployment(Layout())["spec"]["template"]["metadata"]["labels"]
    assert wanted.items() <= labels.items()


def test_pods_beside_a_virtual_garden_bring_a_kubeconfig():
    spec = pod(Layout(part="runtime", namespace="ns"))
    (container,) = spec["containers"]
    assert "--kubeconfig=/etc/espalier/garden/kubeconfig" in container["args"]
    assert "--advertise-url=https://espalier.ns.svc:443" in container["args"]
    assert {"name": "garden", "secret": {"secretName": "espalier-kubeconfig"}} in spec["volumes"]
    assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize(
    ("layout", "made"),
    [
        pytest.param(Layout(), ["espalier-system", "garden"], id="alone"),
        pytest.param(Layout(beside_gardener=True), ["espalier-system"], id="beside a Gardener"),
        pytest.param(Layout(namespace="garden"), ["garden"], id="in the garden namespace"),
        pytest.param(Layout(part="runtime"), ["espalier-system"], id="pods only"),
    ],
)
def test_namespaces(layout: Layout, made: list[str]):
    found = list(workload.namespaces(layout))
    assert [item["metadata"]["name"] for item in found] == made
    assert all("labels" not in item["metadata"] for item in found if made == ["garden"])


@pytest.mark.parametrize("namespace", ["garden", "elsewhere"])
def test_pods_are_told_of_a_garden_under_another_name(monkeypatch, namespace: str):
    (container,) = pod(Layout(garden_namespace=namespace))["containers"]
    for each in container["env"]:
        if "value" in each:
            monkeypatch.setenv(each["name"], each["value"])
    settings = load({})
    assert settings.admission.garden_namespace == namespace
    assert settings.scheduler.garden_namespace == namespace
