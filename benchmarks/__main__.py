"""Run the benchmarks, all or those named, and store their results."""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import benchmarks
from benchmarks import _report

RESULTS = Path(__file__).parent / "results"
DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def modules() -> Iterator[ModuleType]:
    """Import every module of this package that is a benchmark."""
    for found in sorted(pkgutil.iter_modules(benchmarks.__path__), key=lambda each: each.name):
        if not found.name.startswith("_"):
            module = importlib.import_module(f"benchmarks.{found.name}")
            if hasattr(module, "NAME") and hasattr(module, "run"):
                yield module


def machine() -> dict[str, Any]:
    """Describe the machine; absolute figures mean nothing on another one."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def main() -> int:
    """Run benchmarks; a figure that misses its aim is reported and is a failure."""
    available = {module.NAME: module for module in modules()}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(available)}")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default: 5)")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(available):
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    missed = []
    RESULTS.mkdir(exist_ok=True)
    for name in arguments.names or available:
        print(f"{name} ...", flush=True)
        result = available[name].run(arguments.rounds)
        measured = {"name": name, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        document = measured | {"on": machine(), "rounds": arguments.rounds} | result
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
        for figure in result.get("figures", ()):
            verdict = "ok" if figure["met"] else "MISSED"
            print(f"  {figure['what']}: {figure['value']} (aim: {figure['aim']}) {verdict}")
            if not figure["met"]:
                missed.append(f"{name}: {figure['what']}")
        if reason := result.get("not_run"):
            print(f"  not run: {reason}")
    _report.write(RESULTS, DOCUMENT)
    for each in missed:
        print(f"missed its aim: {each}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
