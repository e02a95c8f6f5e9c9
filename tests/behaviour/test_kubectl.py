"""kubectl behaves the same on both servers."""

import asyncio
import json
from uuid import uuid4

import pytest

from tests.behaviour.http_requests import until_served
from tests.behaviour.sample_objects import make_definition

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def widgets(server, session):
    """A custom resource of the test; the value is its name for kubectl."""
    group = f"t{uuid4().hex[:8]}.example.com"
    await server.kubectl("create", "-f", "-", input=make_definition(group))
    name = f"widgets.{group}"
    await until_served(session, group, "widgets")
    yield name
    await server.kubectl("delete", "crd", name, "--wait=false")


def make_widget(resource: str, namespace: str, size: str = "small") -> dict[str, object]:
    group = resource.partition(".")[2]
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"size": size},
    }


async def test_custom_resources_are_applied_shown_scaled_and_deleted(server, widgets, namespace):
    kubectl = server.kubectl
    small = make_widget(widgets, namespace)
    done = await kubectl("apply", "-f", "-", input=small)
    group = widgets.partition(".")[2]
    assert done.stdout == f"widget.{group}/one created\n"
    shown = await kubectl("get", widgets, "-n", namespace)
    assert shown.stdout.split() == ["NAME", "SIZE", "REPLICAS", "one", "small", "1"]
    large = make_widget(widgets, namespace, "large")
    assert (await kubectl("apply", "-f", "-", input=large)).stdout.endswith("configured\n")
    assert (await kubectl("apply", "-f", "-", input=large)).stdout.endswith("unchanged\n")
    await kubectl("scale", widgets, "one", "--replicas=3", "-n", namespace)
    got = json.loads((await kubectl("get", widgets, "one", "-n", namespace, "-o", "json")).stdout)
    assert got["spec"] == {"size": "large", "replicas": 3}
    assert got["metadata"]["generation"] == 3
    await kubectl("delete", widgets, "one", "-n", namespace)
    assert (await kubectl("get", widgets, "-n", namespace)).stdout == ""


async def test_changes_are_streamed_as_they_happen(server, widgets, namespace):
    kubectl = server.kubectl
    await kubectl("create", "-f", "-", input=make_widget(widgets, namespace))
    process = await asyncio.create_subprocess_exec(
        *kubectl.command("get", widgets, "-n", namespace, "-w", "--no-headers"),
        env=kubectl.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            assert (await process.stdout.readline()).split() == [b"one", b"small", b"1"]
            await kubectl("scale", widgets, "one", "--replicas=4", "-n", namespace)
            assert (await process.stdout.readline()).split() == [b"one", b"small", b"4"]
            await kubectl("delete", widgets, "one", "-n", namespace)
            assert (await process.stdout.readline()).split() == [b"one", b"small", b"4"]
    finally:
        process.terminate()
        await process.communicate()


async def test_a_bad_custom_resource_is_refused_by_its_field(server, widgets, namespace):
    huge = make_widget(widgets, namespace, "huge")
    done = await server.kubectl("apply", "-f", "-", input=huge, check=False)
    assert done.code == 1
    assert done.stderr == (
        'The Widget "one" is invalid: spec.size: Unsupported value: "huge": '
        'supported values: "small", "large"\n'
    )
