"""All objects of an installation, in the order in which they are applied, and as files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml
from typing_extensions import override

from webhook.api.crds import crd
from webhook.api.kinds import Kind
from webhook.cli.install.generate import alerts, dashboard, roles, webhooks, workload
from webhook.cli.install.generate.network_policy import network_policy
from webhook.cli.install.layout import Layout
from webhook.kube.meta import Draft

_HEADER: Final = "# Written by `make manifests`; change the generators, not this file.\n"


def objects(layout: Layout, kinds: Iterable[Kind]) -> Iterator[Draft]:
    """Yield the objects to apply; the leader creates the webhook configurations itself."""
    yield from workload.namespaces(layout)
    if layout.has_garden:
        yield from definitions(layout, kinds)
        yield roles.account(layout)
        yield from roles.roles(layout)
    if layout.has_pods:
        yield from _pods(layout)
    # Without a Service to scrape, the alerts would fire for ever.
    if layout.monitoring and layout.has_pods:
        yield from monitoring(layout)


def definitions(layout: Layout, kinds: Iterable[Kind]) -> Iterator[Draft]:
    """Yield the CustomResourceDefinitions of some kinds."""
    for kind in kinds:
        yield crd(kind, beside_gardener=layout.beside_gardener, claimed=layout.claimed)


def _pods(layout: Layout) -> Iterator[Draft]:
    if layout.is_split:
        yield roles.account(layout)
    yield workload.priority_class()
    yield workload.disruption_budget(layout)
    yield workload.service(layout)
    yield network_policy(layout)
    yield workload.settings(layout)
    yield workload.deployment(layout)


def monitoring(layout: Layout) -> Iterator[Draft]:
    """Yield the ServiceMonitor, the PrometheusRule and the dashboard."""
    yield alerts.service_monitor(layout)
    yield alerts.prometheus_rule(layout)
    yield dashboard.config_map(layout)


def files(layout: Layout, kinds: Sequence[Kind]) -> Mapping[str, str]:
    """Return the files of a kustomize folder for an installation, by path in the folder."""
    resources: dict[str, list[Draft]] = {"namespaces.yaml": list(workload.namespaces(layout))}
    if layout.has_garden:
        resources |= _garden_files(layout, kinds)
    if layout.has_pods:
        resources |= _pod_files(layout)
    written = {path: _HEADER + to_yaml(items) for path, items in resources.items()}
    written["kustomization.yaml"] = _kustomization(list(resources))
    if layout.has_pods:
        written |= _monitoring_files(layout)
    if layout.has_garden:
        if "placement" in layout.features:
            written["kube-scheduler/bridge.yaml"] = _HEADER + to_yaml(roles.bridge_roles(layout))
        written["webhooks.yaml"] = _HEADER + _ABOUT_WEBHOOKS + to_yaml(webhooks.preview(layout))
    return written


def _garden_files(layout: Layout, kinds: Sequence[Kind]) -> dict[str, list[Draft]]:
    return {
        **{f"crds/{item['metadata']['name']}.yaml": [item] for item in definitions(layout, kinds)},
        "rbac.yaml": [roles.account(layout), *roles.roles(layout)],
    }


def _pod_files(layout: Layout) -> dict[str, list[Draft]]:
    accounts = {"serviceaccount.yaml": [roles.account(layout)]} if layout.is_split else {}
    return {
        **accounts,
        "priorityclass.yaml": [workload.priority_class()],
        "poddisruptionbudget.yaml": [workload.disruption_budget(layout)],
        "service.yaml": [workload.service(layout)],
        "networkpolicy.yaml": [network_policy(layout)],
        "settings.yaml": [workload.settings(layout)],
        "deployment.yaml": [workload.deployment(layout)],
    }


def _monitoring_files(layout: Layout) -> dict[str, str]:
    resources = {
        "servicemonitor.yaml": [alerts.service_monitor(layout)],
        "prometheusrule.yaml": [alerts.prometheus_rule(layout)],
    }
    return {
        **{f"monitoring/{path}": _HEADER + to_yaml(items) for path, items in resources.items()},
        "monitoring/espalier.json": json.dumps(dashboard.dashboard(), indent=2) + "\n",
        "monitoring/kustomization.yaml": _monitoring_kustomization(layout, list(resources)),
    }


_ABOUT_WEBHOOKS: Final = (
    "# Not part of the kustomization: the leader makes these once it is ready and keeps them\n"
    "# current, so that applying the rest never closes a cluster whose pods do not start.\n"
)


def _kustomization(resources: list[str]) -> str:
    return _HEADER + to_yaml(
        [
            {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "resources": resources,
            }
        ]
    )


def _monitoring_kustomization(layout: Layout, resources: list[str]) -> str:
    generated = dashboard.config_map(layout)["metadata"]
    return _HEADER + to_yaml(
        [
            {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "namespace": layout.namespace,
                "resources": resources,
                "configMapGenerator": [
                    {
                        "name": generated["name"],
                        "files": ["espalier.json"],
                        "options": {
                            "disableNameSuffixHash": True,
                            "labels": generated["labels"],
                        },
                    }
                ],
            }
        ]
    )


class _Dumper(yaml.SafeDumper):
    """Writes YAML without anchors and aliases, and multi-line strings as blocks."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def to_yaml(items: Iterable[Draft]) -> str:
    """Write objects as a stream of YAML documents."""
    documents = (
        yaml.dump(item, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
        for item in items
    )
    return "---\n".join(documents)
