"""The Grafana dashboard: a row of panels for each question of an operator."""

import json
from typing import Final, NamedTuple

from webhook.cli.install.layout import NAME, Layout, metadata
from webhook.kube.meta import Draft

_WIDTH: Final = 8
_HEIGHT: Final = 7
_OURS: Final = '{job=~".*espalier.*"}'


class Panel(NamedTuple):
    """One graph."""

    title: str
    query: str
    legend: str
    unit: str = "short"


def _quantile(share: str, metric: str, by: str) -> str:
    return (
        f"histogram_quantile({share}, sum by (le, {by}) (rate({metric}_bucket[$__rate_interval])))"
    )


def _rate(metric: str, *by: str) -> str:
    return f"sum by ({', '.join(by)}) (rate({metric}[$__rate_interval]))"


ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    (
        "Is it answering?",
        (
            Panel(
                "Requests", _rate("espalier_requests_total", "path", "code"),
                "{{path}} {{code}}", "reqps",
            ),
            Panel(
                "Time of 99 in 100 requests",
                _quantile("0.99", "espalier_request_duration_seconds", "path"), "{{path}}", "s",
            ),
            Panel(
                "Refused early",
                _rate("espalier_requests_shed_total", "path", "reason"),
                "{{path}} {{reason}}", "reqps",
            ),
        ),
    ),
    (
        "What does it decide?",
        (
            Panel(
                "Decisions",
                _rate("espalier_admission_decisions_total", "operation", "kind", "allowed"),
                "{{operation}} {{kind}} allowed={{allowed}}", "reqps",
            ),
            Panel(
                "Verdicts by policy",
                _rate("espalier_admission_verdicts_total", "policy", "verdict"),
                "{{policy}} {{verdict}}", "reqps",
            ),
            Panel(
                "Questions to the API during decisions",
                _rate("espalier_admission_live_reads_total", "result"), "{{result}}", "reqps",
            ),
        ),
    ),
    (
        "Does it see the cluster?",
        (
            Panel(
                "Staleness", "max by (kind) (espalier_cache_staleness_seconds) > 0", "{{kind}}", "s"
            ),
            Panel("Objects", "max by (kind) (espalier_cache_objects)", "{{kind}}"),
            Panel(
                "Lists read again",
                "sum by (kind) (increase(espalier_cache_relists_total[$__rate_interval]))",
                "{{kind}}",
            ),
            Panel(
                "Watches begun again",
                "sum by (kind, reason) (increase(espalier_watch_restarts_total[$__rate_interval]))",
                "{{kind}} {{reason}}",
            ),
        ),
    ),
    (
        "Does it act?",
        (
            Panel(
                "Reconciliations", _rate("espalier_reconciles_total", "controller", "result"),
                "{{controller}} {{result}}", "ops",
            ),
            Panel(
                "Placements", _rate("espalier_placements_total", "result"), "{{result}}", "ops",
            ),
            Panel(
                "Replicas of sets of seeds",
                "max by (managedseedset, state) (espalier_managedseedset_replicas)",
                "{{managedseedset}} {{state}}",
            ),
            Panel("Keys waiting", "max by (controller) (espalier_queue_depth)", "{{controller}}"),
            Panel(
                "Writes to the API", _rate("espalier_api_writes_total", "action", "kind", "result"),
                "{{action}} {{kind}} {{result}}", "ops",
            ),
        ),
    ),
    (
        "Is it well?",
        (
            Panel("Who leads", "espalier_leader", "{{pod}}"),
            Panel(
                "Days until certificates expire",
                "(min by (which) (espalier_cert_not_after_seconds) - time()) / 86400",
                "{{which}}", "d",
            ),
            Panel(
                "Lateness of the event loop",
                _quantile("0.99", "espalier_loop_lag_seconds", "pod"), "{{pod}}", "s",
            ),
            Panel("Memory", f"process_resident_memory_bytes{_OURS}", "{{pod}}", "bytes"),
            Panel(
                "Processor", f"rate(process_cpu_seconds_total{_OURS}[$__rate_interval])", "{{pod}}"
            ),
            Panel(
                "Pauses of the garbage collector",
                _quantile("0.99", "espalier_gc_pause_seconds", "pod"), "{{pod}}", "s",
            ),
        ),
    ),
)  # fmt: skip


def dashboard() -> Draft:
    """Generate the JSON model of the dashboard."""
    panels: list[Draft] = []
    top = 0
    for title, row in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": title,
                "gridPos": {"x": 0, "y": top, "w": 24, "h": 1},
            }
        )
        for index, panel in enumerate(row):
            x, y = index % 3 * _WIDTH, top + 1 + index // 3 * _HEIGHT
            panels.append(_graph(panel, len(panels) + 1, x, y))
        top += 1 + _HEIGHT * -(-len(row) // 3)
    return {
        "title": "Espalier",
        "uid": NAME,
        "tags": [NAME],
        "schemaVersion": 39,
        "time": {"from": "now-3h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [_SOURCE]},
        "panels": panels,
    }


_SOURCE: Final[Draft] = {"name": "source", "type": "datasource", "query": "prometheus"}


def _graph(panel: Panel, number: int, x: int, y: int) -> Draft:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source,
        "gridPos": {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": source,
                "expr": panel.query,
                "legendFormat": panel.legend,
            }
        ],
    }


def config_map(layout: Layout) -> Draft:
    """Generate the ConfigMap from which Grafana's sidecar loads the dashboard."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            f"{NAME}-dashboard", layout.namespace, labels={"grafana_dashboard": "1"}
        ),
        "data": {f"{NAME}.json": json.dumps(dashboard(), indent=2) + "\n"},
    }
