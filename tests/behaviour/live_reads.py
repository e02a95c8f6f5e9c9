"""Reviews of objects that refer to what does not exist, so that admission reads the API server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.builders import make_managed_seed, make_object, make_seed, make_shoot
from tests.support.reviews import make_review
from tests.support.server_processes import Replica
from webhook.api import names
from webhook.kube.meta import Draft
from webhook.scheduling import ledger
from webhook.scheduling.ledger import Ledger

ABSENT = "absent"
MULTI_ZONAL = {"labels": {names.MULTI_ZONAL: "true"}}
MODES = {"shoot.scheduler": "deny", "shoot.references": "deny"}
"""Policies that read objects and are off by default."""


def write_settings(folder: Path) -> Path:
    """Write the settings of a server that runs all policies that read objects."""
    path = folder / "settings.yaml"
    # A day's fraction of some seconds: the leader renews the certificate at once.
    path.write_text(json.dumps({"admission": {"modes": MODES}, "certificateDays": 0.0001}))
    return path


def make_binding(namespace: str) -> Draft:
    """A CredentialsBinding with a quota that does not exist."""
    quotas = [{"name": ABSENT, "namespace": namespace}]
    reference = {"apiVersion": "v1", "kind": "Secret", "name": ABSENT, "namespace": namespace}
    return make_object(
        *("security.gardener.cloud/v1alpha1", "CredentialsBinding", "rationed", namespace),
        provider={"type": "local"},
        credentialsRef=reference,
        quotas=quotas,
    )


def _reviews(namespace: str) -> Iterator[tuple[str, Draft]]:
    spec: dict[str, Any]
    for spec in (
        {"cloudProfileName": ABSENT, "seedName": ABSENT, "exposureClassName": ABSENT},
        {"cloudProfile": {"kind": "NamespacedCloudProfile", "name": ABSENT}},
        {"credentialsBindingName": ABSENT},
        {"credentialsBindingName": "rationed"},
        {"secretBindingName": ABSENT},
    ):
        yield "validate", make_review(make_shoot(namespace=namespace, spec=spec), None, "CREATE")
    elsewhere = make_shoot(namespace=ABSENT, spec={"schedulerName": "default-scheduler"})
    yield "mutate", make_review(elsewhere, None, "CREATE")
    seed = make_seed(ABSENT, zones="abc", metadata=MULTI_ZONAL)
    yield "validate", make_review(seed, None, "CREATE")
    template = {"metadata": MULTI_ZONAL, "spec": seed["spec"]}
    managed_seed = make_managed_seed(ABSENT, template=template)
    yield "validate", make_review(managed_seed, None, "CREATE")
    target = {"kind": "ManagedSeedSet", "name": ABSENT}
    yield (
        "validate",
        _created(
            "seedmanagement.gardener.cloud/v1beta1", "SeedAutoscaler", {"scaleTargetRef": target}
        ),
    )
    schedule = {"startAt": "2020-01-01T00:00:00Z", "finishAt": "2020-01-02T00:00:00Z"}
    scaling = {"targetRefs": {"tortoiseName": ABSENT}, "schedule": schedule}
    yield "validate", _created("autoscaling.mercari.com/v1alpha1", "ScheduledScaling", scaling)
    for kind in ("MachineDeployment", "MachineSet"):
        machines = ("machine.sapcloud.io/v1alpha1", kind, ABSENT, "garden")
        old, new = (make_object(*machines, spec={"replicas": size}) for size in (1, 2))
        yield "mutate", make_review(new, old, "UPDATE", "scale")


def _created(version: str, kind: str, spec: Draft) -> Draft:
    return make_review(make_object(version, kind, ABSENT, "garden", spec=spec), None, "CREATE")


def make_ledger(namespace: str) -> Draft:
    """The ledger of a seed that is gone, which the leader deletes."""
    return ledger.write(Ledger(ABSENT), namespace)


async def send_reviews(replica: Replica, namespace: str) -> list[int]:
    """Send a review about each kind that admission reads live; return the status codes."""
    url = f"https://127.0.0.1:{replica.port}"
    codes = []
    async with aiohttp.ClientSession() as session:
        for path, review in _reviews(namespace):
            async with session.post(f"{url}/{path}?timeout=10s", json=review, ssl=False) as answer:
                codes.append(answer.status)
    return codes


async def explain(replica: Replica, token: str) -> int:
    """Ask for an explanation with a bearer token; return the status code."""
    url = f"https://127.0.0.1:{replica.port}/scheduler/explain/garden/{ABSENT}"
    bearer = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=bearer, ssl=False) as answer,
    ):
        return answer.status
