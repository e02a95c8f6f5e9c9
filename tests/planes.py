"""Fixtures that start servers, once a run and only when a test asks for them."""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NoReturn

import pytest
import pytest_asyncio

from webhook.planes.binaries import missing
from webhook.planes.embedded import Embedded
from webhook.planes.gardener import Gardener
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.parts import PARTS

IN_CI = os.environ.get("CI") == "true"


def require_parts(*names: str) -> None:
    """Skip the test where real parts are not built; in CI that is a failure."""
    lacking = [part.name for part in PARTS if part.name in names and missing(part)]
    if lacking:
        give_up(f"the real {' and '.join(lacking)} not built: run `make real`")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedded]:
    """The embedded API server, shared by all tests of the run."""
    async with Embedded(tmp_path_factory.mktemp("embedded")) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """etcd, kube-apiserver and kube-controller-manager, shared by all tests of the run."""
    require_parts("etcd", "kubernetes")
    async with Kubernetes(tmp_path_factory.mktemp("kubernetes"), durable=False) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gardener_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gardener]:
    """A garden cluster of its own with a real Gardener, shared by all tests of the run."""
    require_parts("etcd", "kubernetes", "gardener")
    async with Gardener(tmp_path_factory.mktemp("gardener"), durable=False) as server:
        yield server


def not_run(skipped: Iterable[pytest.TestReport]) -> Sequence[str]:
    """Say what a run left out, each reason once, with how many tests it cost."""
    reasons: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    return [f"{count} not run: {reason}" for reason, count in sorted(reasons.items())]


def give_up(reason: str) -> NoReturn:
    """Leave a test out where something is not built; in CI that is a failure."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)
