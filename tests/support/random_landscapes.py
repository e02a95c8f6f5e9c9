"""Random landscapes as an API server returns them: defaulted, the same for the same number."""

from random import Random
from typing import Any

from webhook.kube.meta import Draft

CORE = "core.gardener.cloud/v1beta1"
REGIONS = ("eu-west-1", "eu-west-2", "eu-central-1", "us-east-1", "southeastasia", "europe")
PROVIDERS = ("aws", "gcp")
STRATEGIES = ("SameRegion", "MinimalDistance")
RESTRICTIONS = ("eu-access-only", "inner-source")
DOMAIN = "shoots.example.org"


def make(seed: int, count: int = 20) -> Draft:
    """Return one landscape with placed shoots and with shoots that need a seed."""
    chance = Random(seed)
    seeds = [_seed(chance, number) for number in range(chance.randint(1, 12))]
    names = [each["metadata"]["name"] for each in seeds]
    placed = [_placed(chance, number, names) for number in range(chance.randint(0, 40))]
    return {
        "strategy": chance.choice(STRATEGIES),
        "seeds": seeds,
        "shoots": placed,
        "cloudProfiles": [_profile(chance, name) for name in PROVIDERS],
        "configMaps": [_table(chance, name) for name in PROVIDERS if chance.random() < 0.5],
        "projects": [
            {
                "apiVersion": CORE,
                "kind": "Project",
                "metadata": {"name": "dev"},
                "spec": {"namespace": "garden-dev"},
            }
        ],
        "asks": [_shoot(chance, f"ask-{number:02}") for number in range(count)],
    }


def _seed(chance: Random, number: int) -> Draft:
    zones = [f"z{index}" for index in range(chance.choice((0, 1, 1, 2, 3, 3, 4)))]
    settings: Draft = {"scheduling": {"visible": chance.random() < 0.93}}
    if zones and chance.random() < 0.3:
        settings["zoneSelection"] = {"mode": chance.choice(("Prefer", "Enforce"))}
    spec: Draft = {
        "provider": {
            "type": chance.choice(PROVIDERS),
            "region": chance.choice(REGIONS),
            "zones": zones,
        },
        "networks": _networks(chance),
        "settings": settings,
        "dns": {"defaults": [{"type": "x", "domain": DOMAIN}] if chance.random() < 0.4 else []},
        "ingress": {"domain": f"ingress.s{number}.example.org", "controller": {"kind": "nginx"}},
    }
    if chance.random() < 0.3:
        taint: Draft = {"key": chance.choice(("private", "seed.gardener.cloud/protected"))}
        spec["taints"] = [taint | ({"value": "x"} if chance.random() < 0.4 else {})]
    if chance.random() < 0.4:
        spec["accessRestrictions"] = [{"name": chance.choice(RESTRICTIONS)}]
    if chance.random() < 0.2:
        spec["backup"] = {"provider": "aws"}
    return {
        "apiVersion": CORE,
        "kind": "Seed",
        "metadata": _seed_metadata(chance, number),
        "spec": spec,
        "status": _seed_status(chance, "backup" in spec),
    }


def _seed_metadata(chance: Random, number: int) -> Draft:
    labels = {"tier": chance.choice(("gold", "silver"))}
    metadata: Draft = {"name": f"seed-{number:02}", "labels": labels}
    if chance.random() < 0.05:
        metadata["annotations"] = {"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
    if chance.random() < 0.04:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["gardener"]}
    return metadata


def _seed_status(chance: Random, has_backup: bool) -> Draft:
    ready = [("GardenletReady", "True" if chance.random() < 0.93 else "Unknown")]
    if has_backup:
        ready.append(("BackupBucketsReady", chance.choice(("True", "True", "False"))))
    stamp = "2026-01-01T00:00:00Z"
    times = {"lastTransitionTime": stamp, "lastUpdateTime": stamp, "reason": "x", "message": "x"}
    status: Draft = {"conditions": [{"type": t, "status": s, **times} for t, s in ready]}
    if chance.random() < 0.97:
        operation = {"type": "Reconcile", "state": "Succeeded", "progress": 100}
        status["lastOperation"] = {**operation, "description": "x", "lastUpdateTime": stamp}
    if chance.random() < 0.7:
        status["allocatable"] = {"shoots": str(chance.choice((0, 1, 3, 5, 20)))}
    return status


def _networks(chance: Random) -> Draft:
    if chance.random() < 0.15:
        return {
            "nodes": "fd00:1::/64",
            "pods": "fd00:2::/64",
            "services": "fd00:3::/112",
            "ipFamilies": ["IPv6"],
        }
    number = chance.randint(0, 3)
    networks: Draft = {
        "nodes": f"10.{number}.0.0/16",
        "pods": f"10.{number + 100}.0.0/16",
        "services": f"10.{number + 200}.0.0/16",
        "ipFamilies": ["IPv4"],
    }
    if chance.random() < 0.2:
        networks["shootDefaults"] = {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"}
    return networks


def _placed(chance: Random, number: int, seeds: list[str]) -> Draft:
    shoot = _shoot(chance, f"old-{number:03}")
    if chance.random() < 0.9:
        shoot["spec"]["seedName"] = chance.choice(seeds)
    if chance.random() < 0.3:
        shoot["status"] = {"seedName": chance.choice(seeds)}
    return shoot


def _shoot(chance: Random, name: str) -> Draft:
    provider = chance.choice(PROVIDERS)
    spec: Draft = {
        "cloudProfile": {"kind": "CloudProfile", "name": provider},
        "region": chance.choice(REGIONS),
        "purpose": chance.choice(("evaluation", "testing", "production", "evaluation")),
        "schedulerName": "espalier",
        "kubernetes": {"version": "1.36.0"},
        "provider": {"type": provider, "workers": [_worker(chance)]},
    }
    if chance.random() < 0.8:
        spec["networking"] = _shoot_networks(chance)
    if chance.random() < 0.3:
        tolerance = {"type": chance.choice(("node", "zone"))}
        spec["controlPlane"] = {"highAvailability": {"failureTolerance": tolerance}}
    elif chance.random() < 0.1:
        spec["controlPlane"] = {"zones": [chance.choice(("z0", "z2"))]}
    if chance.random() < 0.3:
        spec["seedSelector"] = _selector(chance)
    if chance.random() < 0.4:
        spec["tolerations"] = _tolerations(chance)
    if chance.random() < 0.15:
        spec["accessRestrictions"] = [{"name": chance.choice(RESTRICTIONS)}]
    if chance.random() < 0.4:
        spec["dns"] = {"domain": _domain(chance, name)}
    metadata = {"name": name, "namespace": "garden-dev", "uid": name}
    return {"apiVersion": CORE, "kind": "Shoot", "metadata": metadata, "spec": spec}


def _worker(chance: Random) -> Draft:
    zones = chance.sample(("z0", "z1", "z2", "z9"), chance.randint(0, 2))
    worker: Draft = {"name": "pool", "minimum": 1, "maximum": 3, "machine": {"type": "m"}}
    return worker | {"zones": zones}


def _shoot_networks(chance: Random) -> Draft:
    if chance.random() < 0.2:
        return {
            "type": "calico",
            "nodes": "fd00:9::/64",
            "pods": chance.choice(("fd00:2::/64", "fd00:a::/64")),
            "services": "fd00:b::/112",
            "ipFamilies": ["IPv6"],
        }
    networks: Draft = {"type": "calico", "ipFamilies": ["IPv4"]}
    networks["nodes"] = chance.choice(("10.1.0.0/16", "10.250.0.0/16"))
    if chance.random() < 0.8:
        networks["pods"] = chance.choice(("100.96.0.0/11", "10.101.0.0/16", "241.0.0.0/16"))
        networks["services"] = chance.choice(("100.64.0.0/13", "10.201.0.0/16"))
    return networks


def _selector(chance: Random) -> Draft:
    if chance.random() < 0.5:
        return {"matchLabels": {"tier": chance.choice(("gold", "silver", "wood"))}}
    operator: dict[str, Any] = chance.choice(
        (
            {"operator": "In", "values": ["gold"]},
            {"operator": "NotIn", "values": ["gold"]},
            {"operator": "Exists"},
            {"operator": "DoesNotExist"},
        )
    )
    return {"matchExpressions": [{"key": chance.choice(("tier", "other")), **operator}]}


def _tolerations(chance: Random) -> list[Draft]:
    first: Draft = {"key": chance.choice(("private", "seed.gardener.cloud/protected"))}
    return [first | ({"value": chance.choice(("x", "y"))} if chance.random() < 0.5 else {})]


def _domain(chance: Random, name: str) -> str:
    return chance.choice((f"{name}.dev.{DOMAIN}", f"{name}.other.{DOMAIN}", "custom.example.com"))


def _profile(chance: Random, name: str) -> Draft:
    spec: Draft = {"type": name, "regions": [{"name": region} for region in REGIONS]}
    if chance.random() < 0.3:
        types = chance.choice(([], ["*"], [*PROVIDERS], ["gcp"]))
        spec["seedSelector"] = {"providerTypes": types}
        if chance.random() < 0.5:
            spec["seedSelector"]["matchLabels"] = {"tier": "gold"}
    return {"apiVersion": CORE, "kind": "CloudProfile", "metadata": {"name": name}, "spec": spec}


def _table(chance: Random, profile: str) -> Draft:
    data = {}
    for region in chance.sample(REGIONS, 3):
        others = chance.sample(REGIONS, chance.randint(1, 4))
        data[region] = "".join(f"{other}: {chance.randint(0, 5) * 10}\n" for other in others)
    if chance.random() < 0.15:
        data[chance.choice(REGIONS)] = "not a table"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"distances-{profile}",
            "namespace": "garden",
            "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
            "annotations": {"scheduling.gardener.cloud/cloudprofiles": f"other, {profile}"},
        },
        "data": data,
    }
