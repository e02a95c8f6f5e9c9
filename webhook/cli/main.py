"""The command line: selects the command, passes its arguments on, returns its exit code."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NamedTuple, Protocol, cast

from webhook import __version__


class Command(NamedTuple):
    """One command: where its code is, and its line in the help."""

    module: str
    help: str
    extra: str = ""
    """The extra of the package that has to be installed for it."""
    requires: tuple[str, ...] = ()
    """Top-level modules that come with the extra."""


class CommandModule(Protocol):
    """What the module of a command has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; 0 on success, 1 with a finding, 2 if it cannot be done."""


COMMANDS: Final[Mapping[str, Command]] = {
    "serve": Command(
        "webhook.cli.serve", "run webhooks, extender and controllers against a cluster"
    ),
    "certs": Command("webhook.cli.certs", "create, show or rotate certificates"),
    "dev": Command(
        "webhook.dev.command",
        "run a landscape on this machine: API server, webhooks, scheduler, controllers",
        extra="dev",
        requires=("celpy", "re2"),
    ),
    "explain": Command(
        "webhook.cli.explain", "show for a shoot why each seed is filtered out, or its score"
    ),
    "check": Command(
        "webhook.cli.check.command", "validate manifests offline with the server's policies"
    ),
    "fix": Command("webhook.cli.fix", "repair objects that are older than the rules"),
    "manifests": Command(
        "webhook.cli.manifests", "print everything to install, for kubectl apply -f -"
    ),
    "doctor": Command(
        "webhook.cli.doctor",
        "show what is missing on this machine, and what Espalier would do in a cluster",
    ),
    "simulate": Command(
        "webhook.cli.simulate.command",
        "try an autoscaler on replayed or random arrivals of shoots, with plots",
    ),
    "nodegroups": Command(
        "webhook.cli.nodegroups.config",
        "print what a cluster-autoscaler needs to use this server's node groups",
    ),
}
"""All commands, in the order in which the help lists them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `espalier`."""
    about = "Admission, scheduling and automation for Gardener-style landscapes"
    return run(COMMANDS, "espalier", about, argv)


def run(
    table: Mapping[str, Command], program: str, about: str, argv: Sequence[str] | None = None
) -> int:
    """Run one command of a table."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    # Only this command's module is imported: the others would slow it down, and may lack an extra.
    chosen = next((each for each in arguments if each in table), "")
    if chosen and (remedy := _missing_extra(table[chosen])):
        print(f"{program} {chosen}: {remedy}", file=sys.stderr)
        return 2
    parser, subparsers = _parsers(table, program, about)
    if not chosen:
        parser.parse_args(arguments)  # prints help, version or an error, and exits
        return 2
    module = cast("CommandModule", import_module(table[chosen].module))
    module.add_arguments(subparsers[chosen])
    args = parser.parse_args(arguments)
    try:
        return module.run(args)
    except KeyboardInterrupt:
        return 130


def _missing_extra(command: Command) -> str:
    """Return how to install the extra of a command; empty if all its modules are there."""
    missing = [name for name in command.requires if find_spec(name) is None]
    if not missing:
        return ""
    return f"{', '.join(missing)} not found: run pip install 'espalier[{command.extra}]'"


def _parsers(
    table: Mapping[str, Command], program: str, about: str
) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(program, description=about)
    parser.add_argument("--version", action="version", version=f"espalier {__version__}")
    actions = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    subparsers = {
        name: actions.add_parser(name, help=command.help) for name, command in table.items()
    }
    return parser, subparsers
