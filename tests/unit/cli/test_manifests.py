import argparse
import json
from pathlib import Path

import pytest
import yaml

from webhook.cli import manifests
from webhook.dev.planes.ports import free_port


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


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


def test_the_network_policy_admits_the_addresses_of_api_servers(capsys):
    assert run("--standalone", "--api-servers=10.0.0.0/28, 10.1.2.3,fd00::1") == 0
    items = {item["kind"]: item for item in yaml.safe_load_all(capsys.readouterr().out)}
    sources = items["NetworkPolicy"]["spec"]["ingress"][0]["from"]
    blocks = [each["ipBlock"]["cidr"] for each in sources if "ipBlock" in each]
    assert blocks == ["10.0.0.0/28", "10.1.2.3/32", "fd00::1/128"]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        pytest.param("10.0.0.1/28", "10.0.0.1/28 has host bits set", id="bits of a host"),
        pytest.param("api.example.org", "use blocks like 10.0.0.0/28", id="a name"),
    ],
)
def test_what_is_no_ip_block_is_named_with_the_remedy(capsys, blocks: str, message: str):
    with pytest.raises(SystemExit):
        run("--standalone", f"--api-servers={blocks}")
    assert message in capsys.readouterr().err


def test_addresses_of_api_servers_without_pods_are_refused(capsys):
    assert run("--standalone", "--part=garden", "--api-servers=10.0.0.1") == 2
    assert "--api-servers needs pods" in capsys.readouterr().err


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
def test_without_a_cluster_a_flag_has_to_name_the_landscape(capsys, tmp_path, which: str):
    flags = {
        "named": ["--kubeconfig", str(tmp_path / "absent")],
        "unnamed": [],
        "unreachable": ["--kubeconfig", str(_kubeconfig_of_no_server(tmp_path))],
    }
    assert run(*flags[which]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("espalier manifests: ")
    assert printed.err.count("\n") == 1
    assert "add --offline to --standalone or --beside-gardener" in printed.err


@pytest.mark.parametrize("landscape", ["--standalone", "--beside-gardener"])
def test_a_cluster_that_is_named_must_be_readable_for_every_landscape(
    capsys, monkeypatch, tmp_path, landscape: str
):
    monkeypatch.setenv("KUBECONFIG", str(_kubeconfig_of_no_server(tmp_path)))
    assert run(landscape) == 2
    printed = capsys.readouterr()
    assert (printed.out, "add --offline" in printed.err) == ("", True)
    assert run(landscape, "--offline") == 0
    assert run(landscape, "--part=runtime") == 0, "it has no definitions"


def test_without_a_cluster_the_projects_whose_kinds_are_defined_are_named(capsys):
    run("--standalone")
    reported = capsys.readouterr().err
    assert "no cluster was read, so no definition was left out; where Gardener" in reported
    assert "machine-controller-manager, etcd-druid, Tortoise is installed" in reported
    run("--beside-gardener")
    assert capsys.readouterr().err == "", "only our own kinds"


def _kubeconfig_of_no_server(folder: Path) -> Path:
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{free_port()}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    described = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}]}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump({**described, "current-context": "c"}))
    return path


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(["--crds"], "need --uninstall", id="definitions without leaving"),
        pytest.param(
            ["--namespace=a", "--config={namespace: b}"],
            "--namespace=a: FILE has namespace b, choose one",
            id="a flag and the file disagree",
        ),
        pytest.param(
            ["--config={port: 1, serviceName: x}"],
            "port: the manifests set it, remove it from FILE",
            id="a setting of the manifests",
        ),
        pytest.param(
            ["--config={scheduler: {profile: x}}"], "scheduler: ", id="an invalid settings file"
        ),
        pytest.param(["--force"], "need --uninstall", id="force without leaving"),
        pytest.param(
            ["--advertise-url=http://host:1"], "API servers call https only", id="plain http"
        ),
        pytest.param(
            ["--advertise-url=https://h:1", "--part=runtime"],
            "choose one",
            id="pods of a server outside",
        ),
        pytest.param(["--monitoring", "--part=garden"], "needs pods", id="alerts without pods"),
        pytest.param(
            ["--standalone", "--own=managedseed"],
            "--own is for clusters with a Gardener",
            id="replacing a Gardener that is not there",
        ),
        pytest.param(
            ["--monitoring", "--advertise-url=https://h:1"],
            "needs pods",
            id="alerts on a server outside",
        ),
    ],
)
def test_conflicting_flags_are_errors(capsys, tmp_path, flags: list[str], message: str):
    file = tmp_path / "settings.yaml"
    for flag in flags:
        if flag.startswith("--config="):
            file.write_text(flag.removeprefix("--config="))
    written = [f"--config={file}" if flag.startswith("--config=") else flag for flag in flags]
    assert run("--standalone", *written) == 2
    printed = capsys.readouterr()
    assert message.replace("FILE", str(file)) in printed.err
    assert printed.out == ""


def test_pods_and_permissions_know_which_controllers_replace_gardeners(capsys):
    assert run("--beside-gardener", "--own=managedseedset,managedseed") == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    (pods,) = (each for each in objects if each["kind"] == "Deployment")
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    assert "--own=managedseed,managedseedset" in container["args"]
    namespaces = [each["metadata"].get("namespace") for each in objects if each["kind"] == "Role"]
    assert "kube-system" in namespaces


def test_a_controller_that_cannot_be_replaced_is_an_error(capsys):
    with pytest.raises(SystemExit):
        run("--beside-gardener", "--own=shoot")
    message = "'shoot' is unknown, use managedseed or managedseedset"
    assert message in capsys.readouterr().err


def test_a_feature_alone_brings_only_its_own_kinds(capsys):
    assert run("--standalone", "--features=scheduled-scaling") == 0
    items = [*yaml.safe_load_all(capsys.readouterr().out)]
    defined = [
        item["metadata"]["name"] for item in items if item["kind"] == "CustomResourceDefinition"
    ]
    assert defined == [
        "scheduledscalings.autoscaling.mercari.com",
        "tortoises.autoscaling.mercari.com",
    ]
    granted = {
        group
        for item in items
        if item["kind"] in ("ClusterRole", "Role")
        for rule in item["rules"]
        for group in rule["apiGroups"]
    }
    assert not [group for group in granted if group.endswith(("gardener.cloud", "sapcloud.io"))]
    namespaces = [item["metadata"]["name"] for item in items if item["kind"] == "Namespace"]
    assert namespaces == ["espalier-system"]
    (pods,) = (item for item in items if item["kind"] == "Deployment")
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    assert "--features=scheduled-scaling" in container["args"]


def test_features_of_the_file_are_installed_with_what_they_require(capsys, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("features: [seeds]")
    assert run("--standalone", "--part=garden", f"--config={file}") == 0
    found = printed(capsys)
    assert "CustomResourceDefinition/managedseeds.seedmanagement.gardener.cloud" in found
    assert "CustomResourceDefinition/cloudprofiles.core.gardener.cloud" in found, "of placement"
    assert "CustomResourceDefinition/machines.machine.sapcloud.io" not in found
    assert run("--standalone", "--features=extensions", f"--config={file}") == 2
    assert "--features=extensions: " in capsys.readouterr().err


def test_an_unknown_feature_is_an_error_that_names_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        run("--standalone", "--features=admission,king")
    known = "admission, placement, seeds, node-groups, scheduled-scaling, extensions"
    assert f"'king' is unknown, known are {known}" in capsys.readouterr().err


def test_offline_needs_a_landscape(capsys):
    assert run("--offline") == 2
    assert "--offline needs --standalone or --beside-gardener" in capsys.readouterr().err


SETTINGS = """\
# Kept as it is.
gardenNamespace: plot
admission:
  modes: {seed.zones: off}
"""


@pytest.mark.parametrize("landscape", ["--standalone", "--beside-gardener"])
@pytest.mark.parametrize("part", ["--part=all", "--part=runtime"])
def test_pods_mount_the_settings_file(capsys, monkeypatch, tmp_path, landscape: str, part: str):
    # The environment of this process is not that of the pods.
    monkeypatch.setenv("ESPALIER_GARDEN_NAMESPACE", "elsewhere")
    file = tmp_path / "mine.yaml"
    file.write_text(SETTINGS)
    assert run(landscape, part, f"--config={file}") == 0
    items = [*yaml.safe_load_all(capsys.readouterr().out)]
    (held,) = (item for item in items if item["kind"] == "ConfigMap")
    assert held["data"] == {"settings.yaml": SETTINGS}
    (deployment,) = (item for item in items if item["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (folder,) = (each for each in container["volumeMounts"] if each["name"] == "settings")
    assert f"--config={folder['mountPath']}/settings.yaml" in container["args"]
    volume = {"name": "settings", "configMap": {"name": held["metadata"]["name"]}}
    assert volume in pod["volumes"]
    assert {"name": "ESPALIER_GARDEN_NAMESPACE", "value": "plot"} in container["env"]


def test_another_file_replaces_the_pods(capsys, tmp_path):
    def template(text: str) -> object:
        (tmp_path / "file").write_text(text)
        run("--standalone", f"--config={tmp_path / 'file'}")
        items = yaml.safe_load_all(capsys.readouterr().out)
        return next(item for item in items if item["kind"] == "Deployment")["spec"]["template"]

    assert template("logLevel: debug") != template("logLevel: info")
    assert template("logLevel: info") == template("logLevel: info")


@pytest.mark.parametrize("flags", [(), ("--part=garden",), ("--advertise-url=https://h:1",)])
def test_the_preview_of_webhooks_follows_the_settings_file(
    capsys, tmp_path, flags: tuple[str, ...]
):
    file = tmp_path / "mine.yaml"
    file.write_text("admission: {failure: Ignore, modes: {machineset.permits: off}}")
    assert run("--standalone", "--webhooks", f"--config={file}", *flags) == 0
    hooks = [
        hook for item in yaml.safe_load_all(capsys.readouterr().out) for hook in item["webhooks"]
    ]
    assert {hook["failurePolicy"] for hook in hooks} == {"Ignore"}
    assert not [hook for hook in hooks if hook["name"].startswith("machinesets.")]


def test_pods_that_api_servers_call_at_a_url_of_the_file(capsys, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("advertiseUrl: https://espalier.example.com")
    assert run("--standalone", f"--config={file}", "--part=runtime") == 0
    assert "--advertise-url=https://espalier.example.com" in capsys.readouterr().out
    run("--standalone", f"--config={file}", "--webhooks")
    assert "url: https://espalier.example.com/validate" in capsys.readouterr().out


def test_standalone_excludes_beside_gardener():
    with pytest.raises(SystemExit) as caught:
        run("--standalone", "--beside-gardener")
    assert caught.value.code == 2


def test_the_patch_of_the_tortoise_definition_is_json(capsys):
    assert run("--standalone", "--tortoise-crd-patch") == 0
    operations = json.loads(capsys.readouterr().out)
    assert [operation["op"] for operation in operations] == ["test", "add", "add"]


def test_writing_deletes_definitions_that_are_no_longer_ours(tmp_path):
    stale = tmp_path / "crds" / "gone.example.com.yaml"
    other = tmp_path / "README.md"
    stale.parent.mkdir()
    for path in (stale, other):
        path.write_text("x")
    assert run("--standalone", "--write", str(tmp_path)) == 0
    assert not stale.exists()
    assert other.exists()
    assert (tmp_path / "kustomization.yaml").exists()
