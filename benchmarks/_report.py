"""Write the results into the documentation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEAD = """\
# Benchmarks

This page lists what was measured. `make bench` writes it from `benchmarks/results/`; the docstring
of each module of `benchmarks/` describes what it measures and how. Figures are ratios within one
run, as medians over interleaved rounds, because absolute figures depend on the machine.
"""


def write(results: Path, document: Path) -> None:
    """Write one table for each benchmark that has results."""
    parts = [_HEAD]
    for path in sorted(results.glob("*.json")):
        parts += ["\n", *_section(json.loads(path.read_text()))]
    document.write_text("".join(parts))


def _section(result: dict[str, Any]) -> Iterator[str]:
    yield f"## {result['name']}\n\n"
    if reason := result.get("not_run"):
        yield f"Not run: {reason}.\n"
        return
    where = result.get("on", {})
    rounds = "1 round" if result["rounds"] == 1 else f"{result['rounds']} rounds"
    python, cores = where.get("python", "?"), where.get("cores", "?")
    yield f"{result['at'][:10]}, {rounds}, Python {python} on {cores} cores.\n\n"
    yield "| figure | value | aim | met |\n|---|---|---|---|\n"
    for figure in result.get("figures", ()):
        met = "yes" if figure["met"] else "**no**"
        yield f"| {figure['what']} | {figure['value']} | {figure['aim']} | {met} |\n"
