"""`kubectl-espalier`, or `kubectl espalier`: commands about objects in a cluster."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final, cast

from webhook import __version__
from webhook.cli.main import Command

SUBCOMMANDS: Final[Mapping[str, str]] = {
    "rollout": "webhook.cli.rollout.command",
}
"""Subcommands and the modules behind them, in the order in which help lists them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    asked = arguments[0] if arguments and arguments[0] in SUBCOMMANDS else None
    commands = {name: _load(name) for name in SUBCOMMANDS if asked in (None, name)}
    args = _parser(commands).parse_args(arguments)
    try:
        return commands[args.command].run(args)
    except KeyboardInterrupt:
        return 130


def _load(name: str) -> Command:
    return cast("Command", import_module(SUBCOMMANDS[name]))


def _parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "kubectl espalier", description="Look after seeds, shoots and their schedules"
    )
    parser.add_argument("--version", action="version", version=f"espalier {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands.items():
        command.add_arguments(subparsers.add_parser(name, help=command.HELP))
    return parser
