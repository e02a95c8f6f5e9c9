"""The command line: find the command, hand its arguments over, give its exit code back."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from webhook import __version__

COMMANDS: Final[Mapping[str, str]] = {
    "serve": "webhook.cli.serve",
    "certs": "webhook.cli.certs",
    "dev": "webhook.cli.dev.command",
    "explain": "webhook.cli.explain",
    "check": "webhook.cli.check",
    "fix": "webhook.cli.fix",
    "manifests": "webhook.cli.manifests",
    "doctor": "webhook.cli.doctor",
    "simulate": "webhook.cli.simulate.command",
    "nodegroups": "webhook.cli.nodegroups.config",
}
"""Commands and the modules behind them, in the order in which help lists them."""


class Command(Protocol):
    """What a module behind a command offers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and say how it went: 0 well, 1 with a finding, 2 not at all."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    about = "Admission, scheduling and automation for Gardener-style landscapes"
    return run(COMMANDS, "espalier", about, argv)


def run(
    table: Mapping[str, str], program: str, about: str, argv: Sequence[str] | None = None
) -> int:
    """Run one command of a table of modules."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    # Only what is asked for is loaded: a server's libraries would slow a small command down.
    asked = arguments[0] if arguments and arguments[0] in table else None
    commands = {name: _load(table[name]) for name in table if asked in (None, name)}
    args = _parser(commands, program, about).parse_args(arguments)
    try:
        return commands[args.command].run(args)
    except KeyboardInterrupt:
        return 130


def _load(module: str) -> Command:
    return cast("Command", import_module(module))


def _parser(commands: Mapping[str, Command], program: str, about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(program, description=about)
    parser.add_argument("--version", action="version", version=f"espalier {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands.items():
        command.add_arguments(subparsers.add_parser(name, help=command.HELP))
    return parser
