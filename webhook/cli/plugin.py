"""`kubectl-espalier`, called as `kubectl espalier`: commands about objects in a cluster."""

from collections.abc import Mapping, Sequence
from typing import Final

from webhook.cli.main import Command, run

SUBCOMMANDS: Final[Mapping[str, Command]] = {
    "rollout": Command(
        "webhook.cli.rollout.command", "follow, pause and undo rolling updates of ManagedSeedSets"
    ),
    "explain": Command(
        "webhook.cli.explain", "show for a shoot why each seed is filtered out, or its score"
    ),
    "schedule": Command(
        "webhook.cli.schedule.command",
        "show which floors of scheduled scaling apply when, for the next days",
    ),
    "nodegroups": Command(
        "webhook.cli.nodegroups.command",
        "show worker pools as node groups, with bounds, sizes and zone states",
    ),
}
"""All subcommands, in the order in which the help lists them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand."""
    return run(SUBCOMMANDS, "kubectl espalier", "Manage seeds, shoots and their schedules", argv)
