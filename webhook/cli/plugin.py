"""`kubectl-espalier`, or `kubectl espalier`: commands about objects in a cluster."""

from collections.abc import Mapping, Sequence
from typing import Final

from webhook.cli.main import run

SUBCOMMANDS: Final[Mapping[str, str]] = {
    "rollout": "webhook.cli.rollout.command",
    "explain": "webhook.cli.explain",
    "schedule": "webhook.cli.schedule.command",
    "nodegroups": "webhook.cli.nodegroups.command",
}
"""Subcommands and the modules behind them, in the order in which help lists them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand."""
    return run(
        SUBCOMMANDS, "kubectl espalier", "Look after seeds, shoots and their schedules", argv
    )
