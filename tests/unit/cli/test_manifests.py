import argparse
import json
from pathlib import Path

import pytest
import yaml

from webhook.cli import manifests
from webhook.planes.ports import free_port


def run(*flags: str) -> int:
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    return manifests.run(parser.parse_args(flags))


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    items = yaml.safe_load_all(capsys.readouterr().out)
    return [f"{item['kind']}/{item['metadata']['name']}" for item in items]


def test_standalone_prints_all_kinds_and_the_pods(capsys):
    assert run("--standalone", "--namespace=ns", "--image=i:1", "--replicas=5") == 0
    items = {item["kind"]: item for item in yaml.safe_load_all(capsys.readouterr().out)}
    spec = items["Deployment"]["spec"]
    assert spec["replicas"] == 5
    assert spec["template"]["spec"]["containers"][0]["image"] == "i:1"
    assert items["Deployment"]["metadata"]["namespace"] == "ns"


def test_beside_a_gardener_only_our_definitions(capsys):
    assert run("--beside-gardener", "--part=garden") == 0
    definitions = [name for name in printed(capsys) if name.startswith("CustomResource")]
    assert definitions == [
        "CustomResourceDefinition/seedautoscalers.seedmanagement.gardener.cloud",
        "CustomResourceDefinition/zones.seedmanagement.gardener.cloud",
        "CustomResourceDefinition/scheduledscalings.autoscaling.mercari.com",
    ]


def test_monitoring_is_added_on_request(capsys):
    run("--standalone")
    assert "PrometheusRule/espalier" not in printed(capsys)
    run("--standalone", "--monitoring")
    assert "PrometheusRule/espalier" in printed(capsys)


def test_a_server_outside_needs_no_pods(capsys):
    run("--standalone", "--advertise-url=https://host:9443")
    kinds = {name.split("/")[0] for name in printed(capsys)}
    assert not kinds & {"Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget"}


@pytest.mark.parametrize(
    ("flags", "client"),
    [
        pytest.param((), {"name": "espalier", "port": 443}, id="through the Service"),
        pytest.param(("--part=garden",), "https://espalier.espalier-system.svc:443", id="by URL"),
        pytest.param(("--advertise-url=https://h:1",), "https://h:1", id="to a server outside"),
    ],
)
def test_webhooks_are_printed_on_request_only(
    capsys, flags: tuple[str, ...], client: str | dict[str, object]
):
    assert run("--standalone", "--webhooks", *flags) == 0
    items = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [item["kind"] for item in items] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    for hook in (hook for item in items for hook in item["webhooks"]):
        if isinstance(client, str):
            assert hook["clientConfig"]["url"].startswith(f"{client}/")
        else:
            assert client.items() <= hook["clientConfig"]["service"].items()


@pytest.mark.parametrize("which", ["named", "unnamed", "unreachable"])
def test_without_a_cluster_somebody_must_say_what_it_is(capsys, monkeypatch, tmp_path, which: str):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    flags = {
        "named": ["--kubeconfig", str(tmp_path / "absent")],
        "unnamed": [],
        "unreachable": ["--kubeconfig", str(_leading_nowhere(tmp_path))],
    }
    assert run(*flags[which]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("espalier manifests: ")
    assert printed.err.count("\n") == 1
    assert "say --standalone or --beside-gardener" in printed.err


def _leading_nowhere(folder: Path) -> Path:
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    described = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}]}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump({**described, "current-context": "c"}))
    return path


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        pytest.param(["--crds"], "go with --uninstall", id="definitions without leaving"),
        pytest.param(["--force"], "go with --uninstall", id="force without leaving"),
        pytest.param(
            ["--advertise-url=http://host:1"], "API servers call https only", id="plain http"
        ),
        pytest.param(
            ["--advertise-url=https://h:1", "--part=runtime"],
            "choose one",
            id="pods of a server outside",
        ),
        pytest.param(
            ["--monitoring", "--part=garden"], "goes with the pods", id="alerts without pods"
        ),
        pytest.param(
            ["--monitoring", "--advertise-url=https://h:1"],
            "goes with the pods",
            id="alerts on a server outside",
        ),
    ],
)
def test_flags_that_contradict_each_other_are_named(capsys, flags: list[str], complaint: str):
    assert run("--standalone", *flags) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


def test_both_kinds_of_landscape_at_once_are_refused():
    with pytest.raises(SystemExit) as caught:
        run("--standalone", "--beside-gardener")
    assert caught.value.code == 2


def test_the_patch_of_the_tortoise_definition_is_json(capsys):
    assert run("--standalone", "--tortoise-crd-patch") == 0
    operations = json.loads(capsys.readouterr().out)
    assert [operation["op"] for operation in operations] == ["test", "add", "add"]


def test_writing_leaves_no_definition_behind_that_is_no_longer_ours(tmp_path):
    stale = tmp_path / "crds" / "gone.example.com.yaml"
    other = tmp_path / "README.md"
    stale.parent.mkdir()
    for path in (stale, other):
        path.write_text("x")
    assert run("--standalone", "--write", str(tmp_path)) == 0
    assert not stale.exists()
    assert other.exists()
    assert (tmp_path / "kustomization.yaml").exists()
