"""Alerts on the metrics that the server exports."""

from typing import Final, NamedTuple

from webhook.cli.install.layout import NAME, Layout, metadata
from webhook.kube.meta import Draft


class Alert(NamedTuple):
    """A condition that needs a person's attention, and the remedy."""

    name: str
    expression: str
    minutes: int
    severity: str
    summary: str
    remedy: str


ALERTS: Final = (
    Alert(
        "EspalierDown",
        "absent(up{job=~'.*espalier.*'} == 1)",
        5,
        "critical",
        "no replica of Espalier can be scraped",
        "look at the pods; webhooks that fail closed refuse requests meanwhile, and adaptive"
        " worker pools neither roll nor scale",
    ),
    Alert(
        "EspalierNotLeading",
        "sum(espalier_leader) != 1",
        5,
        "warning",
        "not exactly one replica leads",
        "look at the Lease in the namespace of the installation and at the logs of the leader",
    ),
    Alert(
        "EspalierSlowAdmission",
        "histogram_quantile(0.99, sum by (le) (rate(espalier_request_duration_seconds_bucket"
        '{path=~"/mutate|/validate"}[5m]))) > 1',
        5,
        "warning",
        "one in a hundred admission requests takes over a second",
        "look at loop lag and live reads; add replicas, or split the roles over Deployments",
    ),
    Alert(
        "EspalierShedding",
        "sum by (reason) (rate(espalier_requests_shed_total[5m])) > 0.1",
        10,
        "warning",
        "requests are refused early: {{ $labels.reason }}",
        "add replicas if overloaded; look at the watches if not synced",
    ),
    Alert(
        "EspalierBug",
        "increase(espalier_panics_total[15m]) > 0",
        0,
        "warning",
        "a request failed because of a bug in Espalier",
        "the log has the request id and the traceback; please report it",
    ),
    Alert(
        "EspalierCacheStale",
        "max by (kind) (espalier_cache_staleness_seconds) > 120",
        5,
        "warning",
        "the watch on {{ $labels.kind }} is lost",
        "is the API that serves it up? decisions that need it read live or wait meanwhile",
    ),
    Alert(
        "EspalierMalformedObjects",
        "max by (kind) (espalier_cache_malformed_objects) > 0",
        15,
        "info",
        "objects of {{ $labels.kind }} cannot be read",
        "the log names them and their faulty fields; they are ignored until that is corrected",
    ),
    Alert(
        "EspalierFloorsUnsettled",
        "max(espalier_scheduled_scaling_notes_unsettled) > 0",
        10,
        "warning",
        "values that scheduled scaling raised are not given back",
        "are Tortoise's webhooks up? they fail closed; the writes are repeated until they pass",
    ),
    Alert(
        "EspalierFloorsMissing",
        "increase(espalier_scheduled_scaling_floors_missing_total[15m]) > 3",
        0,
        "warning",
        "floors of scheduled scaling are lost and put back again and again",
        "are our webhooks called? look at the label of the namespace and at the replicas",
    ),
    Alert(
        "EspalierCertificateExpires",
        "min by (which) (espalier_cert_not_after_seconds) - time() < 7 * 86400",
        60,
        "critical",
        "the {{ $labels.which }} certificate expires within a week",
        "it should have been renewed: look at the log, or run espalier certs rotate",
    ),
    Alert(
        "EspalierReconcileErrors",
        'sum by (controller) (rate(espalier_reconciles_total{result="error"}[10m])) > 0.05',
        30,
        "warning",
        "controller {{ $labels.controller }} keeps failing",
        "its log lines name object and error",
    ),
    Alert(
        "EspalierSeedSetStuck",
        "max by (namespace, managedseedset)"
        ' (espalier_managedseedset_condition{condition="Progressing"}) == 0',
        30,
        "warning",
        "set {{ $labels.namespace }}/{{ $labels.managedseedset }} does not go on",
        "its condition Progressing has the reason; a paused set continues only after it is resumed",
    ),
    Alert(
        "EspalierSeedAutoscalerAtMaximum",
        "max by (namespace, seedautoscaler) (espalier_seedautoscaler_pending_shoots) > 0 and"
        " on (namespace, seedautoscaler) max by (namespace, seedautoscaler)"
        ' (espalier_seedautoscaler_condition{condition="ScalingLimited"}) == 1',
        15,
        "warning",
        "shoots wait for {{ $labels.namespace }}/{{ $labels.seedautoscaler }}, which may not grow",
        "raise spec.maxReplicas, or see in its condition ScalingLimited what else limits it",
    ),
    Alert(
        "EspalierLoopBlocked",
        "histogram_quantile(0.99, sum by (le, pod) (rate(espalier_loop_lag_seconds_bucket[5m])))"
        " > 0.25",
        10,
        "warning",
        "the event loop of {{ $labels.pod }} is blocked",
        "is the CPU throttled or overcommitted? raise requests, remove limits",
    ),
)


def prometheus_rule(layout: Layout) -> Draft:
    """Generate the PrometheusRule."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {"groups": [{"name": NAME, "rules": [_alert(alert) for alert in ALERTS]}]},
    }


def _alert(alert: Alert) -> Draft:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": f"{alert.minutes}m",
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.remedy},
    }


def service_monitor(layout: Layout) -> Draft:
    """Generate the ServiceMonitor through which Prometheus scrapes the metrics."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "selector": {"matchLabels": metadata(NAME)["labels"]},
            "endpoints": [{"port": "http", "path": "/metrics", "interval": "30s"}],
        },
    }
