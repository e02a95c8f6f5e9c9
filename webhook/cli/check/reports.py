"""Findings as text, JSON and SARIF."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from webhook import __version__
from webhook.admission import response
from webhook.admission.table import POLICIES
from webhook.cli.check.evaluation import ManifestFinding

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(findings: Iterable[ManifestFinding]) -> str:
    """Return a line for each finding, in the format of compilers."""
    return "\n".join(
        f"{path}: {name}: {'refused' if finding.fatal else 'warning'}: "
        f"{response.describe(finding)} [{finding.policy}]"
        for path, name, finding in findings
    )


def as_json(findings: Iterable[ManifestFinding]) -> str:
    """Return all fields of each finding."""
    return json.dumps(
        [
            {
                "path": path,
                "object": name,
                "policy": finding.policy,
                "field": finding.field,
                "reason": finding.reason,
                "message": finding.message,
                "refused": finding.fatal,
            }
            for path, name, finding in findings
        ],
        indent=2,
    )


def as_sarif(findings: Sequence[ManifestFinding]) -> str:
    """Return a SARIF log for code scanning services."""
    rules = [{"id": name} for name in dict.fromkeys(policy.name for policy in POLICIES)]
    driver = {"name": "espalier", "version": __version__, "rules": rules}
    results = [_result(each) for each in findings]
    log = {"$schema": _SCHEMA, "version": "2.1.0"}
    return json.dumps(log | {"runs": [{"tool": {"driver": driver}, "results": results}]}, indent=2)


def _result(each: ManifestFinding) -> dict[str, Any]:
    path, name, finding = each
    location = {"physicalLocation": {"artifactLocation": {"uri": path}}}
    return {
        "ruleId": finding.policy,
        "level": "error" if finding.fatal else "warning",
        "message": {"text": f"{name}: {response.describe(finding)}"},
        "locations": [location],
    }
