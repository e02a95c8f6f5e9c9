"""Fixtures and options of all tests, and the summary of a run."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import settings

from tests.support import campaigns
from tests.support.control_planes import (
    IN_CI,
    embedded_server,
    gardener_server,
    give_up,
    not_run,
    real_server,
)
from tests.support.garden_cluster import gardener
from tests.support.guards import (
    loop_is_never_blocked,
    memory_is_never_changed,
    no_task_is_left,
    tasks_have_owners,
)
from webhook.dev.planes.errors import NotBuiltError

__all__ = [
    "embedded_server",
    "gardener",
    "gardener_server",
    "loop_is_never_blocked",
    "memory_is_never_changed",
    "no_task_is_left",
    "real_server",
    "tasks_have_owners",
]

# The same examples in every run, so that a red run means a change; soaks look for new ones.
settings.register_profile("run", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=2_000)
settings.load_profile("soak" if os.environ.get("ESPALIER_SOAK") else "run")


@contextmanager
def _where_built() -> Iterator[None]:
    try:
        yield
    except NotBuiltError as error:
        give_up(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record campaigns that have passed in full."""
    report = yield
    if report.when == "call" and report.passed:
        campaigns.record(item, report.duration)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Leave out a test whose fixtures ask for a real part, such as kubectl, that is not built."""
    with _where_built():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Leave out a test that asks for a real part that is not built."""
    with _where_built():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print what was not run and how to include it, after everything else."""
    yield
    lines = not_run(terminalreporter.stats.get("skipped", ()))
    if lines:
        terminalreporter.section("not run")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let nothing pass in CI by being skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and exitstatus == 0 and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
