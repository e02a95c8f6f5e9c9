"""The page of alerts."""

import re
from typing import Final

from webhook.cli.install.generate.alerts import ALERTS
from webhook.dev.reference import markdown

_INTRODUCTION: Final = """# Alerts

`manifests/monitoring` and `espalier manifests --monitoring` install these as a PrometheusRule.

"""
_LABEL: Final = re.compile(r"\{\{ \$labels\.(\w+) \}\}")


def page() -> str:
    """Write the page."""
    rows = (
        (
            markdown.code(alert.name),
            alert.severity,
            _LABEL.sub(lambda found: found[1].upper(), alert.summary),
            alert.remedy,
            markdown.code(alert.expression) + (f", {alert.minutes} min" if alert.minutes else ""),
        )
        for alert in ALERTS
    )
    headings = ("alert", "severity", "meaning", "what to do", "fires when")
    return _INTRODUCTION + markdown.table(headings, rows)
