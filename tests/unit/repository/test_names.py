"""Names of the program: one word for one thing, and charters that describe what is there."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parents[3]
ROOT: Final = PROJECT / "webhook"
DEV: Final = "dev"
"""The development rooms imitate other programs and keep their words; they are not compared."""

BANNED: Final = frozenset(
    (
        *("judge", "judges", "judged", "judging", "judgement", "tell", "tells", "told", "telling"),
        *("say", "says", "said", "saying", "speak", "mend", "mends", "mended", "guest", "guests"),
        *("hear", "hears", "heard", "pulse", "lull", "clerk", "onlooker", "familiar", "insistence"),
        *(
            "insisting",
            "remembrance",
            "remembering",
            "remembers",
            "remembered",
            "seer",
            "crew",
            "crews",
            "trouble",
        ),
        *("troubles", "soundness", "prospects", "sweeping", "settling", "letting", "lets"),
        *("mistakes", "barred", "standing", "owed", "wish", "wishes"),
    )
)
"""Words that have a plain counterpart in Kubernetes or Gardener; docs/glossary.md lists it."""

PLAIN: Final = frozenset({"tell", "tells", "lets", "letting", "guest", "guests"})
"""Words of BANNED that name nothing in the code, but are plain English in a sentence."""

QUOTING: Final = frozenset(
    {
        "tests/unit/repository/test_names.py",
        "docs/decisions/0022-names-are-the-words-of-the-field.md",
    }
)
"""Files that list the words."""

TEXTS: Final = frozenset({".py", ".md", ".yaml", ".proto", ".go"})

PACKAGES: Final = sorted(path.parent for path in ROOT.rglob("*.py") if path.name == "__init__.py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def shown(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def python_files(*folders: str) -> Iterator[Path]:
    """Yield the modules below folders of the project, without generated ones."""
    for folder in folders:
        for path in sorted((PROJECT / folder).rglob("*.py")):
            if not path.stem.endswith(("_pb2", "_pb2_grpc")):
                yield path


def modules() -> Iterator[Path]:
    """Yield the modules of the program, without the development rooms."""
    for path in python_files("webhook"):
        if path.relative_to(ROOT).parts[0] != DEV:
            yield path


def test_no_public_type_has_the_name_of_another() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for name in _types(parsed(path)):
            if not name.startswith("_"):
                places[name].append(shown(path))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def _types(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the classes and type aliases of a module."""
    for node in tree.body:
        match node:
            case ast.ClassDef():
                yield node.name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield name
            case _:
                pass


def test_imports_keep_the_names_of_what_they_import() -> None:
    aliases = []
    for path in python_files("webhook", "tests", "benchmarks"):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            aliases += [
                f"{shown(path)}: {base}{name.name} as {name.asname}"
                for name in node.names
                if name.asname and (name.name, name.asname) != ("strategies", "st")
            ]
    assert aliases == [], "only hypothesis.strategies has an alias: its documentation uses it"


@pytest.mark.parametrize("package", PACKAGES, ids=shown)
def test_a_charter_names_what_exists(package: Path) -> None:
    charter = ast.get_docstring(parsed(package / "__init__.py"))
    assert charter, f"{shown(package)} has no charter"
    names = re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)(?:\(.*?\))?`", charter)
    assert [name for name in names if not _exists(package, name)] == []


def _exists(package: Path, name: str) -> bool:
    """Return whether a name is a module, a file or a definition of a package, or a room."""
    path = name.removeprefix("webhook.").replace(".", "/")
    bases = (package, package.parent, ROOT)
    places = [base / each for base in bases for each in (path, f"{path}.py")]
    if any(place.exists() for place in (*places, package / name)):
        return True
    if any(package.glob(f"*/{path}.py")):
        return True
    return any(name in _defined(each) for each in package.rglob("*.py"))


@cache
def _defined(path: Path) -> frozenset[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(node.name for node in parsed(path).body if isinstance(node, kinds))


def test_identifiers_use_the_words_of_the_field() -> None:
    found = []
    for path in python_files("webhook", "tests", "benchmarks"):
        words = {*_words(path.stem)}
        names = {path.stem} if words & BANNED else set()
        names |= {name for name in _identifiers(parsed(path)) if {*_words(name)} & BANNED}
        found += [f"{shown(path)}: {name}" for name in sorted(names)]
    assert found == []


def test_texts_use_the_words_of_the_field() -> None:
    """Docstrings, comments, messages, test ids and pages have no word of BANNED either."""
    word = re.compile(rf"\b(?:{'|'.join(sorted(BANNED - PLAIN))})\b", re.IGNORECASE)
    found = []
    for path in _texts():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if word.search(line):
                found.append(f"{shown(path)}:{number}: {line.strip()}")
    assert found == []


def _texts() -> Iterator[Path]:
    for folder in ("webhook", "tests", "benchmarks", "docs"):
        for path in sorted((PROJECT / folder).rglob("*")):
            if path.suffix in TEXTS and shown(path) not in QUOTING:
                yield path


def _words(name: str) -> Iterator[str]:
    """Yield the words of an identifier, whether they are joined by underscores or by capitals."""
    for part in name.split("_"):
        yield from (word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", part))


def _identifiers(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines: definitions, parameters, variables, attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr
            case _:
                pass
