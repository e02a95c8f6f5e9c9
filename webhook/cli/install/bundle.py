"""All objects of an installation, in the order in which they are applied, and as files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml
from typing_extensions import override

from webhook.api.crds import crd
from webhook.api.kinds import Kind
from webhook.api.meta import Draft
from webhook.cli.install import alerts, dashboard, roles, webhooks, workload
from webhook.cli.install.layout import Layout

_HEADER: Final = "# Written by `make manifests`; change the generators, not this file.\n"


def objects(layout: Layout, kinds: Iterable[Kind]) -> Iterator[Draft]:
    """Yield what is applied; webhook configurations are not part of it, the leader makes them."""
    yield from workload.namespaces(layout)
    if layout.has_garden:
        yield from definitions(layout, kinds)
        yield roles.account(layout)
        yield from roles.roles(layout)
    if layout.has_pods:
        yield from _pods(layout)
    if layout.monitoring and layout.has_pods:
        yield from monitoring(layout)


def definitions(layout: Layout, kinds: Iterable[Kind]) -> Iterator[Draft]:
    """Yield the definitions of the kinds that nobody else defines."""
    for kind in kinds:
        yield crd(kind, beside_gardener=layout.beside_gardener, claimed=layout.claimed)


def _pods(layout: Layout) -> Iterator[Draft]:
    if layout.is_split:
        yield roles.account(layout)
    yield workload.priority_class()
    yield workload.disruption_budget(layout)
    yield workload.service(layout)
    yield workload.network_policy(layout)
    yield workload.deployment(layout)


def monitoring(layout: Layout) -> Iterator[Draft]:
    """Yield what Prometheus and Grafana pick up, from the Service of the pods."""
    yield alerts.monitor(layout)
    yield alerts.rule(layout)
    yield dashboard.config_map(layout)


def files(layout: Layout, kinds: Sequence[Kind]) -> Mapping[str, str]:
    """Write an installation, or the part of it, as a folder for kustomize, by path within it."""
    resources: dict[str, list[Draft]] = {"namespaces.yaml": list(workload.namespaces(layout))}
    if layout.has_garden:
        resources |= _garden_files(layout, kinds)
    if layout.has_pods:
        resources |= _pod_files(layout)
    written = {path: _HEADER + write(items) for path, items in resources.items()}
    written["kustomization.yaml"] = _kustomization(list(resources))
    if layout.has_pods:
        written |= _monitoring_files(layout)
    if layout.has_garden:
        written["kube-scheduler/bridge.yaml"] = _HEADER + write(roles.engine_roles(layout))
        written["webhooks.yaml"] = _HEADER + _ABOUT_WEBHOOKS + write(webhooks.preview(layout))
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
        "networkpolicy.yaml": [workload.network_policy(layout)],
        "deployment.yaml": [workload.deployment(layout)],
    }


def _monitoring_files(layout: Layout) -> dict[str, str]:
    watched = {
        "servicemonitor.yaml": [alerts.monitor(layout)],
        "prometheusrule.yaml": [alerts.rule(layout)],
    }
    return {
        **{f"monitoring/{path}": _HEADER + write(items) for path, items in watched.items()},
        "monitoring/espalier.json": json.dumps(dashboard.dashboard(), indent=2) + "\n",
        "monitoring/kustomization.yaml": _monitoring_kustomization(layout, list(watched)),
    }


_ABOUT_WEBHOOKS: Final = (
    "# Not part of the kustomization: the leader makes these once it is ready and keeps them\n"
    "# current, so that applying the rest never closes a cluster whose pods do not start.\n"
)


def _kustomization(resources: list[str]) -> str:
    return _HEADER + write(
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
    return _HEADER + write(
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
    """YAML as people write it: long texts as blocks, nothing by reference."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def write(items: Iterable[Draft]) -> str:
    """Write objects as a stream of YAML documents."""
    documents = (
        yaml.dump(item, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
        for item in items
    )
    return "---\n".join(documents)
