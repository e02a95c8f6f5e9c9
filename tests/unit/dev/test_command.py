"""`espalier dev` requires exactly the packages of the extra `dev`."""

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from webhook.cli.main import COMMANDS

ROOT = Path(__file__).parents[3]


def test_the_command_requires_the_packages_of_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    command = COMMANDS["dev"]
    packages = [each.partition(">")[0] for each in project["optional-dependencies"][command.extra]]
    assert len(packages) == len(command.requires)
    for package, module in zip(packages, command.requires, strict=True):
        assert package in packages_distributions()[module]
