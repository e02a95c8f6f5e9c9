from typing import Any

import pytest

from webhook.cli.install.generate import workload
from webhook.cli.install.generate.network_policy import network_policy
from webhook.cli.install.layout import Layout
from webhook.cli.install.server_settings import with_settings
from webhook.server.listeners import IN_FLIGHT_SECONDS, PROBE_SECONDS
from webhook.settings import load, load_file
from webhook.wiring.shutdown import CALL_STOP_SECONDS, CHILD_STOP_SECONDS


def pod(layout: Layout) -> dict[str, Any]:
    spec: dict[str, Any] = workload.deployment(layout)["spec"]["template"]["spec"]
    return spec


def test_an_update_keeps_three_replicas_available():
    spec = workload.deployment(Layout())["spec"]
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_the_pods_meet_the_restricted_pod_security_standard():
    spec = pod(Layout())
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount for mount in container["volumeMounts"] if not mount["readOnly"]]
    assert [mount["mountPath"] for mount in writable] == ["/tmp"]


def test_there_is_no_cpu_limit():
    (container,) = pod(Layout())["containers"]
    assert set(container["resources"]["limits"]) == {"memory"}


def test_probes_use_the_http_port():
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


def test_the_selector_has_only_stable_labels():
    selectors = [
        workload.deployment(Layout())["spec"]["selector"]["matchLabels"],
        workload.disruption_budget(Layout())["spec"]["selector"]["matchLabels"],
        network_policy(Layout())["spec"]["podSelector"]["matchLabels"],
        workload.service(Layout())["spec"]["selector"],
    ]
    wanted = {"app.kubernetes.io/name": "espalier", "app.kubernetes.io/component": "server"}
    assert selectors == [wanted] * 4
    labels = workload.deployment(Layout())["spec"]["template"]["metadata"]["labels"]
    assert wanted.items() <= labels.items()


def test_pods_of_a_virtual_garden_mount_a_kubeconfig():
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
def test_pods_get_another_garden_namespace_as_settings(monkeypatch, namespace: str):
    (container,) = pod(Layout(garden_namespace=namespace))["containers"]
    for each in container["env"]:
        if "value" in each:
            monkeypatch.setenv(each["name"], each["value"])
    assert load({}).options().garden_namespace == namespace


@pytest.mark.parametrize("drain_longest", [0.0, 45.0, 300.0])
def test_the_grace_period_allows_everything_that_a_stop_may_take(tmp_path, drain_longest):
    path = tmp_path / "settings.yaml"
    path.write_text(f"drainLongest: {drain_longest}")
    layout = with_settings(Layout(), path, {})
    settings = load_file(str(path))
    assert settings.drain_longest == drain_longest
    follows = (
        settings.timing.call_timeout,
        CALL_STOP_SECONDS,
        CHILD_STOP_SECONDS,
        IN_FLIGHT_SECONDS,
        PROBE_SECONDS,
    )
    assert pod(layout)["terminationGracePeriodSeconds"] > drain_longest + sum(follows)


def test_the_grace_period_without_a_settings_file_is_that_of_the_defaults(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("")
    given = pod(with_settings(Layout(), path, {}))
    assert pod(Layout())["terminationGracePeriodSeconds"] == given["terminationGracePeriodSeconds"]
