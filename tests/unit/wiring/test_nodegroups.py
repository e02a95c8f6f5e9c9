"""Where node groups listen, for whom, and in how many processes."""

import os
from pathlib import Path
from typing import Any

import pytest

from webhook.settings import load
from webhook.settingsfile import SettingsError
from webhook.tls.bundle import BundleError
from webhook.wiring.nodegroups import LOOPBACK, child_arguments, listening_of


class _Certificates:
    def __init__(self, trusted: bytes) -> None:
        self.trusted = trusted


def _certificates(trusted: bytes = b"authority") -> Any:
    return _Certificates(trusted)


def test_mutual_tls_is_the_rule() -> None:
    where = listening_of(load({"nodegroups_port": "9444"}), _certificates())
    assert (where.host, where.port) == ("0.0.0.0", 9444)
    assert where.credentials is not None
    assert not where.insecure


def test_without_certificates_only_loopback_and_one_namespace_are_served() -> None:
    where = listening_of(load({"nodegroups_insecure": "shoot--dev--one"}), _certificates())
    assert (where.host, where.insecure) == (LOOPBACK, "shoot--dev--one")
    assert where.credentials is None


def test_somebody_must_vouch_for_autoscalers() -> None:
    with pytest.raises(BundleError, match="nobody vouches for autoscalers"):
        listening_of(load({}), _certificates(b""))


def test_another_process_has_the_same_settings_but_for_what_only_one_may_have(
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
        "--node-group-auto-discovery=mcm:a,mcm:b=c",
        f"--certificate-directory={tmp_path}",
    }
    parsed = dict(each.removeprefix("--").replace("-", "_").split("=", 1) for each in arguments)
    child = load({name: parsed[name] for name in ("nodegroups_beside", "nodegroups_port")})
    assert listening_of(child, _certificates()).is_shared


def test_other_discoverers_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="there is no discoverer 'asg', only mcm"):
        load({"node_group_auto_discovery": "asg:tag=x"})


def test_discovery_reaches_decisions() -> None:
    options = load({"node_group_auto_discovery": "mcm:a, mcm:b=c"}).options()
    assert options.nodegroups.discovery == ("mcm:a", "mcm:b=c")
