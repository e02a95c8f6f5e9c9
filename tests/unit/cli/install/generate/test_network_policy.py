from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook.cli.install.generate.network_policy import network_policy
from webhook.cli.install.layout import Layout
from webhook.domain.options import Options, SeedsOptions

MANIFESTS = Path(__file__).parents[5] / "manifests"


def sources(port: int, *blocks: str) -> list[Any] | None:
    """Return who may reach a port; None if everybody may."""
    rules = network_policy(Layout(api_servers=blocks))["spec"]["ingress"]
    (rule,) = [each for each in rules if port in [found["port"] for found in each["ports"]]]
    found: list[Any] | None = rule.get("from")
    return found


def test_with_the_addresses_of_api_servers_only_they_and_our_kube_scheduler_reach_the_tls_port():
    manifest = yaml.safe_load((MANIFESTS / "kube-scheduler" / "deployment.yaml").read_text())
    assert sources(9443, "10.0.0.0/28", "fd00::/64") == [
        {"ipBlock": {"cidr": "10.0.0.0/28"}},
        {"ipBlock": {"cidr": "fd00::/64"}},
        {"podSelector": {"matchLabels": manifest["spec"]["selector"]["matchLabels"]}},
    ]


def test_without_them_every_source_reaches_the_tls_port():
    assert sources(9443) is None


@pytest.mark.parametrize("port", [8080, 9444])
@pytest.mark.parametrize("blocks", [(), ("10.0.0.0/28",)])
def test_probes_metrics_and_autoscalers_come_from_anywhere(port: int, blocks: tuple[str, ...]):
    assert sources(port, *blocks) is None


def _admits(policy: dict[str, Any], namespace: str, port: int) -> bool:
    """Return whether a policy allows TCP to a port of a pod in a namespace."""
    for rule in policy["spec"]["egress"]:
        peers = [each["namespaceSelector"]["matchLabels"].values() for each in rule.get("to", ())]
        is_peer = not peers or any(namespace in values for values in peers)
        ports = rule.get("ports")
        is_port = ports is None or {"protocol": "TCP", "port": port} in ports
        if is_peer and is_port:
            return True
    return False


@pytest.mark.parametrize(
    ("address", "namespace", "port", "is_allowed"),
    [
        pytest.param("", "monitoring", 9090, False, id="none is set up"),
        pytest.param("http://prom.monitoring:9090", "monitoring", 9090, True, id="a Service"),
        pytest.param("http://prom.monitoring", "monitoring", 9090, True, id="a port behind it"),
        pytest.param("http://prom.monitoring.svc", "monitoring", 9090, True, id="its long name"),
        pytest.param("http://prom.monitoring:9090", "other", 5432, False, id="no other namespace"),
        pytest.param("http://prom:9090", "espalier-system", 9091, True, id="in our namespace"),
        pytest.param("http://10.1.2.3:9099", "other", 9099, True, id="an address"),
        pytest.param("http://10.1.2.3:9099", "3", 5432, False, id="which is no namespace"),
        pytest.param("http://prom.eu.example.org", "other", 80, True, id="the default port"),
        pytest.param("http://prom.eu.example.org", "eu", 9090, False, id="a host outside"),
    ],
)
def test_a_prometheus_that_is_set_up_gets_through(address, namespace, port, is_allowed):
    layout = Layout(options=Options(seeds=SeedsOptions(prometheus=address)))
    assert _admits(network_policy(layout), namespace, port) == is_allowed
