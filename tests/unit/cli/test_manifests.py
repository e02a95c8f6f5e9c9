import argparse
import json

import pytest
import yaml

from webhook.cli import manifests


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


def test_without_a_cluster_somebody_must_say_what_it_is(capsys, tmp_path):
    assert run("--kubeconfig", str(tmp_path / "absent")) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("espalier manifests: ")
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("flag", ["--crds", "--force"])
def test_flags_of_leaving_go_with_leaving(capsys, flag: str):
    assert run("--standalone", flag) == 2
    assert "go with --uninstall" in capsys.readouterr().err


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
