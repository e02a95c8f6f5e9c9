"""The listener for autoscalers: address, credentials and processes."""

import os
from pathlib import Path
from typing import Any

import pytest

from webhook.settings import load
from webhook.settingsfile import SettingsError
from webhook.tls.bundle import BundleError
from webhook.wiring.nodegroups import LOOPBACK, child_arguments, listen_options


class _Certificates:
    def __init__(self, trusted: bytes) -> None:
        self.trusted = trusted


def _certificates(trusted: bytes = b"authority") -> Any:
    return _Certificates(trusted)


def test_mutual_tls_is_the_default() -> None:
    where = listen_options(load({"nodegroups_port": "9444"}), _certificates())
    assert (where.host, where.port) == ("0.0.0.0", 9444)
    assert where.credentials is not None
    assert not where.insecure


def test_without_certificates_only_loopback_and_one_namespace_are_served() -> None:
    where = listen_options(load({"nodegroups_insecure": "shoot--dev--one"}), _certificates())
    assert (where.host, where.insecure) == (LOOPBACK, "shoot--dev--one")
    assert where.credentials is None


def test_a_ca_for_autoscalers_is_required() -> None:
    with pytest.raises(BundleError, match="there is no CA for autoscalers"):
        listen_options(load({}), _certificates(b""))


def test_a_further_process_has_the_same_settings_but_for_unique_ones(
    tmp_path: Path,
) -> None:
    given = {
        "nodegroups_processes": "2",
        "node_group_auto_discovery": "mcm:a,mcm:b=c",
        "identity": "me",
        "port": "9443",
        "certificate_directory": str(tmp_path),
    }
    arguments = child_arguments(load(given), "nodegroups-1", 9444)
    assert {*arguments} >= {
        "--identity=me-nodegroups-1",
        "--roles=nodegroups",
        "--port=0",
        "--http-port=0",
        "--nodegroups-port=9444",
        "--nodegroups-processes=1",
        f"--nodegroups-beside={os.getpid()}",
        "--drain-quiet=0",
        "--drain-longest=0",
        "--node-group-auto-discovery=mcm:a,mcm:b=c",
        f"--certificate-directory={tmp_path}",
    }
    parsed = dict(each.removeprefix("--").replace("-", "_").split("=", 1) for each in arguments)
    child = load({name: parsed[name] for name in ("nodegroups_beside", "nodegroups_port")})
    assert listen_options(child, _certificates()).is_shared


def test_unknown_discovery_specs_are_refused() -> None:
    with pytest.raises(SettingsError, match="there is no discoverer 'asg', only mcm"):
        load({"node_group_auto_discovery": "asg:tag=x"})


def test_discovery_specs_that_match_nothing_are_refused_in_flag_and_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="would match nothing"):
        load({"node_group_auto_discovery": "mcm:a/b/c"})
    file = tmp_path / "settings.yaml"
    file.write_text("nodegroups: {discovery: ['mcm:a/b/c']}\n")
    with pytest.raises(SettingsError, match="would match nothing"):
        load({"config": str(file)})
    file.write_text("nodegroups: {discovery: ['mcm:k8s.io/cluster-autoscaler/one']}\n")
    found = load({"config": str(file)}).options().nodegroups.discovery
    assert found == ("mcm:k8s.io/cluster-autoscaler/one",)


def test_discovery_is_part_of_the_options() -> None:
    options = load({"node_group_auto_discovery": "mcm:a, mcm:b=c"}).options()
    assert options.nodegroups.discovery == ("mcm:a", "mcm:b=c")
