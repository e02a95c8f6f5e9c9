"""Objections as text, JSON and SARIF."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from webhook import __version__
from webhook.admission import response
from webhook.admission.table import POLICIES
from webhook.cli.checking.judging import Objection

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def text(objections: Iterable[Objection]) -> str:
    """Write a line for each objection, as compilers do."""
    return "\n".join(
        f"{path}: {name}: {'refused' if finding.fatal else 'warning'}: "
        f"{response.describe(finding)} [{finding.policy}]"
        for path, name, finding in objections
    )


def as_json(objections: Iterable[Objection]) -> str:
    """Write all that is known of each objection."""
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
            for path, name, finding in objections
        ],
        indent=2,
    )


def sarif(objections: Sequence[Objection]) -> str:
    """Write a log that code scanning services read."""
    rules = [{"id": name} for name in dict.fromkeys(policy.name for policy in POLICIES)]
    driver = {"name": "espalier", "version": __version__, "rules": rules}
    results = [_result(objection) for objection in objections]
    log = {"$schema": _SCHEMA, "version": "2.1.0"}
    return json.dumps(log | {"runs": [{"tool": {"driver": driver}, "results": results}]}, indent=2)


def _result(objection: Objection) -> dict[str, Any]:
    path, name, finding = objection
    location = {"physicalLocation": {"artifactLocation": {"uri": path}}}
    return {
        "ruleId": finding.policy,
        "level": "error" if finding.fatal else "warning",
        "message": {"text": f"{name}: {response.describe(finding)}"},
        "locations": [location],
    }
