"""Requests to Espalier beside a real Gardener, and waits for their effects."""

import json
import re
from typing import Any

import aiohttp

from tests.support.garden_cluster import GardenCluster, unique
from tests.support.set_objects import make_autoscaler
from webhook.dev.planes.gardener import PROJECT_NAMESPACE

HERE = f"--namespace={PROJECT_NAMESPACE}"


def make_minimal_autoscaler(target: str, **spec: Any) -> dict[str, Any]:
    """A SeedAutoscaler of a set with the defaults wherever possible."""
    draft = make_autoscaler(target, 80, 3, **spec)
    draft["metadata"]["name"] = unique("a")
    if "minReplicas" not in spec:
        del draft["spec"]["minReplicas"]
    return draft


async def refused(gardener: GardenCluster, draft: dict[str, Any], *how: str) -> str:
    """Send an object that must be refused, and return the error message."""
    done = await gardener.kubectl(*(how or ("create",)), "-f", "-", input=draft, check=False)
    assert done.code != 0, done.stdout
    return done.stderr


async def create(gardener: GardenCluster, draft: dict[str, Any], seed: str = "") -> str:
    """Create an object; with `seed`, a shoot that only the seed of that label may host."""
    if seed:
        draft["spec"]["seedSelector"] = {"matchLabels": {"test": seed}}
    await gardener.kubectl("create", "-f", "-", input=draft)
    name: str = draft["metadata"]["name"]
    return name


async def placed(gardener: GardenCluster, name: str, seed: str) -> None:
    """Wait until a shoot is placed on a seed."""
    await gardener.kubectl(
        *("wait", f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=30s"),
        *(f"shoot/{name}", HERE),
    )


async def events(
    gardener: GardenCluster, name: str, reason: str, namespace: str = PROJECT_NAMESPACE
) -> list[str]:
    """Return the messages of the Events of an object with a reason."""
    chosen = f"--field-selector=involvedObject.name={name},reason={reason}"
    found = await gardener.get("events", f"--namespace={namespace}", chosen)
    return [event["message"] for event in found["items"]]


async def patch(gardener: GardenCluster, *what: str, check: bool = True, **change: Any) -> str:
    """Apply a merge patch; return its warnings, or the refusal."""
    done = await gardener.kubectl(
        "patch", *what, "--type=merge", "-p", json.dumps(change), check=check
    )
    assert check or done.code != 0, done.stdout
    return done.stderr


async def reviews(gardener: GardenCluster) -> float:
    """Return the number of reviews that our server has answered."""
    counted = re.findall(
        r'^espalier_requests_total\{.*path="/(?:mutate|validate)".*\} (\S+)$',
        await _metrics(gardener),
        re.MULTILINE,
    )
    return sum(map(float, counted))


async def verdicts(gardener: GardenCluster, policy: str, verdict: str) -> float:
    """Return how often a policy had a verdict."""
    counted = re.findall(
        r"^espalier_admission_verdicts_total\{(.*)\} (\S+)$",
        await _metrics(gardener),
        re.MULTILINE,
    )
    wanted = (f'policy="{policy}"', f'verdict="{verdict}"')
    return sum(float(count) for labels, count in counted if all(each in labels for each in wanted))


async def _metrics(gardener: GardenCluster) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{gardener.http}/metrics") as answer,
    ):
        return await answer.text()
