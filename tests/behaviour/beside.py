"""What tests ask of Espalier beside a real Gardener, and how they wait for it."""

import json
import re
from typing import Any

import aiohttp

from tests.gardening import Beside, unique
from webhook.planes.gardener import PROJECT_NAMESPACE

HERE = f"--namespace={PROJECT_NAMESPACE}"


def make_autoscaler(target: str, **spec: Any) -> dict[str, Any]:
    """A SeedAutoscaler of a set, which leaves to defaults what it can."""
    utilization = {"type": "Utilization", "averageUtilization": 80}
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": unique("a"), "namespace": "garden"},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": target},
            "maxReplicas": 3,
            "metrics": [
                {"type": "Resource", "resource": {"name": "shoots", "target": utilization}}
            ],
            **spec,
        },
    }


async def refused(beside: Beside, draft: dict[str, Any], *how: str) -> str:
    """Send what is to be refused, and give what the user is told."""
    done = await beside.kubectl(*(how or ("create",)), "-f", "-", input=draft, check=False)
    assert done.code != 0, done.stdout
    return done.stderr


async def create(beside: Beside, draft: dict[str, Any], seed: str = "") -> str:
    """Create something, a shoot perhaps that only the seed so labelled may host."""
    if seed:
        draft["spec"]["seedSelector"] = {"matchLabels": {"test": seed}}
    await beside.kubectl("create", "-f", "-", input=draft)
    name: str = draft["metadata"]["name"]
    return name


async def placed(beside: Beside, name: str, seed: str) -> None:
    """Wait until a shoot is on a seed."""
    await beside.kubectl(
        *("wait", f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=30s"),
        *(f"shoot/{name}", HERE),
    )


async def events(
    beside: Beside, name: str, reason: str, namespace: str = PROJECT_NAMESPACE
) -> list[str]:
    """Give what Events of one reason say about an object."""
    chosen = f"--field-selector=involvedObject.name={name},reason={reason}"
    found = await beside.get("events", f"--namespace={namespace}", chosen)
    return [event["message"] for event in found["items"]]


async def patch(beside: Beside, *what: str, check: bool = True, **change: Any) -> str:
    """Change an object by a merge patch; give what is told besides, or why it is refused."""
    done = await beside.kubectl(
        "patch", *what, "--type=merge", "-p", json.dumps(change), check=check
    )
    assert check or done.code != 0, done.stdout
    return done.stderr


async def reviews(beside: Beside) -> float:
    """How many reviews our server has answered."""
    counted = re.findall(
        r'^espalier_requests_total\{.*path="/(?:mutate|validate)".*\} (\S+)$',
        await _metrics(beside),
        re.MULTILINE,
    )
    return sum(map(float, counted))


async def verdicts(beside: Beside, policy: str, verdict: str) -> float:
    """How often a policy has said so."""
    counted = re.findall(
        r"^espalier_admission_verdicts_total\{(.*)\} (\S+)$", await _metrics(beside), re.MULTILINE
    )
    wanted = (f'policy="{policy}"', f'verdict="{verdict}"')
    return sum(float(count) for said, count in counted if all(each in said for each in wanted))


async def _metrics(beside: Beside) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{beside.http}/metrics") as answer:
        return await answer.text()
