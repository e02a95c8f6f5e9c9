"""Every flag, variable and key of the settings that a text of the program names exists."""

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import webhook
from webhook.cli.main import COMMANDS
from webhook.cli.plugin import SUBCOMMANDS
from webhook.settings import SECTIONS, Settings
from webhook.settingsfile import PREFIX, camel, explain, variable_name

ROOT = Path(webhook.__file__).parent
DOCS = ROOT.parent / "docs"
PAGES = [ROOT.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"(?<=`)espalier [^`|#]*|^espalier [^|#\n]*", re.MULTILINE)
"""Commands in code spans and at the beginning of lines, up to a pipe or comment."""
OTHER_PROGRAMS = ("dev/apiserver", "dev/planes")
"""Folders whose texts have flags of other programs."""
ARGUMENT = re.compile(r"--[\w-]+(=.*)?")
"""A whole text that is an argument of a program and no advice."""
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
COMMAND = re.compile(r"\b(espalier|kubectl|kubectl espalier) ([a-z]+)\b")
VARIABLE = re.compile(rf"{PREFIX}[A-Z_]+")
KEY = re.compile(rf"(?<![\w./-])({'|'.join(map(camel, SECTIONS))})\.([a-zA-Z]+)(?!\w*[./\w])")


@cache
def flags_of(module: str) -> frozenset[str]:
    """Return the flags of a command and of its subcommands."""
    parser = argparse.ArgumentParser()
    import_module(module).add_arguments(parser)
    return frozenset(_flags(parser))


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _flags(each)


def command_of(path: str) -> str:
    """Return the module of the command that prints the texts of a file; else that of `serve`."""
    modules = [each.module for each in (*COMMANDS.values(), *SUBCOMMANDS.values())]
    if path.startswith(("cli/install/", "cli/manifests")):
        return "webhook.cli.manifests"
    if path.startswith("dev/"):
        return "webhook.dev.command"
    own = "webhook." + path.removesuffix(".py").replace("/", ".")
    if own in modules:
        return own
    folder = own.rpartition(".")[0]
    return next((each for each in modules if each.startswith(f"{folder}.")), "webhook.cli.serve")


def texts() -> Iterator[tuple[str, int, str]]:
    """Yield every text of the program but its docstrings, with placeholders as `{}`."""
    for file in sorted(ROOT.rglob("*.py")):
        path = str(file.relative_to(ROOT))
        if not path.startswith(OTHER_PROGRAMS):
            tree = ast.parse(file.read_text())
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            parts = {
                id(part)
                for node in ast.walk(tree)
                if isinstance(node, ast.JoinedStr)
                for part in node.values
            }
            for node in ast.walk(tree):
                if id(node) not in docstrings | parts and (text := _text(node)):
                    yield path, getattr(node, "lineno", 0), text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else ""


def unknown_flags(path: str, text: str) -> list[str]:
    """Return the flags of a text that the program it is about does not have."""
    unknown = []
    for flag in FLAG.finditer(text):
        named = [*COMMAND.finditer(text, 0, flag.start())]
        module = command_of(path)
        if named:
            program, command = named[-1].groups()
            table = {"espalier": COMMANDS, "kubectl espalier": SUBCOMMANDS}.get(program)
            if table is None:
                continue  # a flag of kubectl
            if command in table:
                module = table[command].module
        if flag.group() not in flags_of(module):
            unknown.append(flag.group())
    return unknown


def section_keys(name: str) -> set[str]:
    section: Any = Settings.model_fields[name].annotation
    return {camel(each.name) for each in fields(section)}


KEYS = {camel(name): section_keys(name) for name in SECTIONS}
VARIABLES = {
    *(variable_name(name) for name in Settings.model_fields if name not in SECTIONS),
    *(
        variable_name(f"{name}__{each.name}")
        for name in SECTIONS
        if is_dataclass(section := Settings.model_fields[name].annotation)
        for each in fields(section)
    ),
}


def test_flags_that_a_text_names_exist():
    advised = [(f"{path}:{line}", path, text) for path, line, text in texts()]
    assert sum(1 for _, _, text in advised if FLAG.search(text)) > 100, "the scan finds texts"
    wrong = {
        where: unknown
        for where, path, text in advised
        if not ARGUMENT.fullmatch(text) and (unknown := unknown_flags(path, text))
    }
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_flags_that_a_page_names_exist(page: Path):
    spans = CODE.findall(page.read_text())
    about_us = [span for span in spans if COMMAND.match(span) and not span.startswith("kubectl ")]
    assert {span: found for span in about_us if (found := unknown_flags("", span))} == {}


def test_settings_that_a_text_names_exist():
    wrong = {}
    for path, line, text in texts():
        unknown = [each for each in VARIABLE.findall(text) if each not in VARIABLES | {PREFIX}]
        unknown += [
            f"{section}.{key}"
            for section, key in KEY.findall(text)
            if key not in KEYS[section] and not path.startswith("api/")
        ]
        if unknown:
            wrong[f"{path}:{line}"] = unknown
    assert wrong == {}


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_a_message_for_an_invalid_setting_names_what_sets_it(name: str):
    key = "modes" if name == "admission" else name
    path = (name, key) if name in SECTIONS else (name,)
    invalid = {"loc": path, "msg": "Value error, it is wrong", "type": "value_error"}
    message = explain(invalid, Settings.model_fields, SECTIONS)
    advised = FLAG.findall(message)
    assert advised
    assert set(advised) <= flags_of("webhook.cli.serve")
    variables = set(VARIABLE.findall(message))
    assert variables
    if name not in SECTIONS or name == "admission":
        assert variables <= VARIABLES
