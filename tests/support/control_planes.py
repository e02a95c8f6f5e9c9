"""Fixtures that start API servers, once a run and only when a test requests them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest
import pytest_asyncio

from tests.support import permission_audit
from webhook.dev.planes.binaries import missing
from webhook.dev.planes.components import COMPONENTS
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.gardener import Gardener
from webhook.dev.planes.kubernetes import Kubernetes

_P = TypeVar("_P", bound=Kubernetes)
_AUDITED = permission_audit.AUDITED if permission_audit.FOLDER else ""

IN_CI = os.environ.get("CI") == "true"


def require_parts(*names: str) -> None:
    """Skip the test if real control planes are not built; in CI it fails."""
    lacking = [part.name for part in COMPONENTS if part.name in names and missing(part)]
    if lacking:
        give_up(f"the real {' and '.join(lacking)} not built: run `make real`")


@asynccontextmanager
async def kubernetes(directory: Path) -> AsyncIterator[Kubernetes]:
    """A real control plane that audits our account."""
    require_parts("etcd", "kubernetes")
    async with _audited(Kubernetes(directory, durable=False)) as server:
        yield server


@asynccontextmanager
async def garden(directory: Path) -> AsyncIterator[Gardener]:
    """A real Gardener that audits our account."""
    require_parts("etcd", "kubernetes", "gardener")
    async with _audited(Gardener(directory, durable=False)) as server:
        yield server


@asynccontextmanager
async def _audited(plane: _P) -> AsyncIterator[_P]:
    plane.apiserver.audited = _AUDITED
    try:
        async with plane:
            yield plane
    finally:
        if permission_audit.FOLDER:
            await asyncio.to_thread(permission_audit.reduce_logs, plane.apiserver.audit_logs)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedded]:
    """The embedded API server, shared by all tests of the run."""
    async with Embedded(tmp_path_factory.mktemp("embedded")) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """etcd, kube-apiserver and kube-controller-manager, shared by all tests of the run."""
    async with kubernetes(tmp_path_factory.mktemp("kubernetes")) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gardener_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gardener]:
    """A garden cluster of its own with a real Gardener, shared by all tests of the run."""
    async with garden(tmp_path_factory.mktemp("gardener")) as server:
        yield server


def not_run(skipped: Iterable[pytest.TestReport]) -> Sequence[str]:
    """Return the reasons why tests were skipped, each once, with the number of tests."""
    reasons: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    return [f"{count} not run: {reason}" for reason, count in sorted(reasons.items())]


def give_up(reason: str) -> NoReturn:
    """Skip the test because something is not built; in CI it fails."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)
