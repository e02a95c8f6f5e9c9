"""managedseed.defaults: absent fields of a ManagedSeed are set from its Shoot."""

from typing import Any

import pytest

from tests.support.admission import mutate, validate
from tests.support.builders import (
    CORE,
    SEEDMANAGEMENT,
    make_object,
    make_seed,
    make_seed_shoot,
    merged,
)
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

PRIMARY = {"primary": True, "type": "route53", "credentialsRef": {"kind": "Secret", "name": "dns"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "namespace": "garden"}


def managed(**spec: Any) -> dict[str, Any]:
    return make_object(
        SEEDMANAGEMENT, "ManagedSeed", "seed", "garden", spec={"shoot": {"name": "seed"}, **spec}
    )


def shoot(**spec: Any) -> dict[str, Any]:
    placed = make_seed_shoot(dns={"providers": [PRIMARY]}, seedName="parent")
    return merged(placed, {"spec": spec})


def default(
    given: dict[str, Any], *around: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    result, warnings = mutate("managedseed.defaults", given, around=around)
    again, _ = mutate("managedseed.defaults", result, around=around)
    assert again == result
    return result, warnings


FROM_SHOOT = {
    "provider": {"type": "local", "region": "here", "zones": ["a", "b", "c"]},
    "networks": {"nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16"},
    "settings": {"verticalPodAutoscaler": {"enabled": False}},
    "ingress": {"controller": {"kind": "nginx"}, "domain": "ingress.seed.example.org"},
    "dns": {"provider": {"type": "route53", "credentialsRef": SECRET | {"name": "dns"}}},
}


def test_an_empty_gardenlet_gets_everything() -> None:
    result, warnings = default(managed(gardenlet={}), shoot())
    assert warnings == ()
    assert result["spec"]["gardenlet"] == {
        "deployment": {
            "replicaCount": 2,
            "revisionHistoryLimit": 2,
            "enableHealthProbes": True,
            "image": {"pullPolicy": "IfNotPresent"},
        },
        "bootstrap": "BootstrapToken",
        "mergeWithParent": True,
        "config": {
            "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
            "kind": "GardenletConfiguration",
            "resources": {"capacity": {"shoots": 250}},
            "seedConfig": {"spec": FROM_SHOOT},
        },
    }


def test_an_empty_seed_template_gets_the_same_from_the_shoot() -> None:
    result, _ = default(managed(seedTemplate={}), shoot())
    assert result["spec"]["seedTemplate"]["spec"] == FROM_SHOOT | {
        "secretRef": {"name": "seed-seed", "namespace": "garden"}
    }
    assert "gardenlet" not in result["spec"]


CHOSEN = {
    "provider": {"type": "t", "region": "r", "zones": ["z"]},
    "networks": {"nodes": "n", "pods": "p", "services": "s"},
    "settings": {"verticalPodAutoscaler": {"enabled": True}},
    "ingress": {"controller": {"kind": "k"}, "domain": "d"},
    "dns": {"provider": {"type": "x"}},
    "backup": {"provider": "b", "secretRef": {"name": "mine", "namespace": "n"}},
    "secretRef": {"name": "mine", "namespace": "n"},
}


def test_set_fields_stay() -> None:
    given = managed(seedTemplate={"spec": CHOSEN})
    assert default(given, shoot())[0]["spec"]["seedTemplate"]["spec"] == CHOSEN
    gardenlet = {
        "deployment": {
            "replicaCount": 0,
            "revisionHistoryLimit": 5,
            "enableHealthProbes": False,
            "image": {"tag": "latest", "pullPolicy": "Never"},
        },
        "bootstrap": "None",
        "mergeWithParent": False,
        "config": {
            "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
            "kind": "GardenletConfiguration",
            "resources": {"capacity": {"shoots": 7}},
            "seedConfig": {"spec": CHOSEN},
        },
    }
    assert default(managed(gardenlet=gardenlet), shoot())[0]["spec"]["gardenlet"] == gardenlet


@pytest.mark.parametrize(("tag", "expected"), [("latest", "Always"), ("v1", "IfNotPresent")])
def test_pull_policy(tag: str, expected: str) -> None:
    result, _ = default(managed(gardenlet={"deployment": {"image": {"tag": tag}}}), shoot())
    assert result["spec"]["gardenlet"]["deployment"]["image"]["pullPolicy"] == expected


@pytest.mark.parametrize(
    ("backup", "expected"),
    [
        pytest.param(
            {}, {"provider": "local", "secretRef": {"name": "backup-seed", "namespace": "garden"}},
            id="both are filled",
        ),
        pytest.param(
            {"provider": "s3", "credentialsRef": {"name": "c"}},
            {"provider": "s3", "credentialsRef": {"name": "c"}},
            id="today's reference needs no older one",
        ),
    ],
)  # fmt: skip
def test_backup(backup: dict[str, Any], expected: dict[str, Any]) -> None:
    result, _ = default(managed(seedTemplate={"spec": {"backup": backup}}), shoot())
    assert result["spec"]["seedTemplate"]["spec"]["backup"] == expected


def test_strict_validation_defaults_no_credentials() -> None:
    seed = {"spec": {"backup": {"provider": "local"}}}
    given = managed(gardenlet={"config": {"seedConfig": seed}})
    strict = Options(admission=AdmissionOptions(strict_seeds=True))
    result, _ = mutate("managedseed.defaults", given, around=[shoot()], options=strict)
    assert result["spec"]["gardenlet"]["config"]["seedConfig"]["spec"]["backup"] == {
        "provider": "local"
    }


@pytest.mark.parametrize(
    "gardenlet",
    [
        pytest.param({"bootstrap": ""}, id="bootstrap"),
        pytest.param({"deployment": {"image": {"pullPolicy": ""}}}, id="pull policy"),
        pytest.param({"config": {"seedConfig": {"spec": {"networks": {"nodes": ""}}}}}, id="nodes"),
    ],
)
def test_empty_strings_are_left_to_the_validators(gardenlet: dict[str, Any]) -> None:
    result, _ = default(managed(gardenlet=gardenlet), shoot())
    assert merged(result["spec"]["gardenlet"], gardenlet) == result["spec"]["gardenlet"]
    assert len(validate("managedseed.rules", result, around=[shoot()]).fields) == 1


def test_without_a_shoot_only_its_own_defaults_are_set() -> None:
    result, warnings = default(managed(gardenlet={}))
    assert warnings == ()
    assert result["spec"]["gardenlet"]["config"]["seedConfig"] == {"spec": {}}
    unnamed = managed(gardenlet={}, shoot=None)
    del unnamed["spec"]["shoot"]
    assert default(unnamed)[0]["spec"]["gardenlet"]["config"]["seedConfig"] == {"spec": {}}


def test_neither_seed_template_nor_gardenlet_is_defaulted() -> None:
    assert default(managed(), shoot())[0]["spec"] == {"shoot": {"name": "seed"}}


def test_a_shoot_without_a_domain_is_left_to_the_validators() -> None:
    for dns in ({"domain": None}, None):
        result, warnings = default(managed(seedTemplate={}), shoot(dns=dns))
        assert warnings == ()
        assert "ingress" not in result["spec"]["seedTemplate"]["spec"]


def test_a_shoot_without_zones_or_networks() -> None:
    bare = make_seed_shoot(zones="", networking=None)
    spec = default(managed(seedTemplate={}), bare)[0]["spec"]["seedTemplate"]["spec"]
    assert "zones" not in spec["provider"]
    assert spec["networks"] == {}


PARENT = names.SEED_NAME_PREFIX


@pytest.mark.parametrize(
    ("labels", "seed", "expected"),
    [
        pytest.param({}, "parent", {f"{PARENT}parent": "true"}, id="the parent seed"),
        pytest.param(
            {f"{PARENT}old": "true", "a": "b"},
            "parent",
            {"a": "b", f"{PARENT}parent": "true"},
            id="no longer another one",
        ),
        pytest.param({f"{PARENT}old": "true"}, None, {}, id="none for an unplaced shoot"),
    ],
)
def test_parent_label(labels: dict[str, str], seed: str | None, expected: dict[str, str]) -> None:
    given = merged(managed(gardenlet={}), {"metadata": {"labels": labels}})
    result, _ = default(given, shoot(seedName=seed))
    assert result["metadata"]["labels"] == expected


def binding(kind: str, **rest: Any) -> dict[str, Any]:
    version = CORE if kind == "SecretBinding" else "security.gardener.cloud/v1alpha1"
    return make_object(version, kind, "b", "garden", **rest)


def default_domain(name: str, domain: str, **changes: Any) -> dict[str, Any]:
    metadata = {
        "labels": {names.ROLE: names.ROLE_DEFAULT_DOMAIN},
        "annotations": {
            names.DEFAULT_DOMAIN: domain,
            names.DEFAULT_DOMAIN_PROVIDER: "google",
        },
    }
    return make_object("v1", "Secret", name, "garden", metadata=merged(metadata, changes))


NO_CREDENTIALS = {"primary": True, "type": "route53"}
UNMANAGED = {"primary": True, "type": "unmanaged"}
SEED_DEFAULTS = {
    "dns": {
        "defaults": [
            {"domain": "other.org", "type": "o", "credentialsRef": {"name": "o"}},
            {
                "domain": "example.org",
                "type": "e",
                "credentialsRef": {"kind": "Secret", "name": "e", "namespace": "garden"},
            },
        ]
    }
}


@pytest.mark.parametrize(
    ("spec", "around", "expected"),
    [
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS]}, "secretBindingName": "b"},
            [binding("SecretBinding", secretRef={"name": "s", "namespace": "creds"})],
            {"type": "route53", "credentialsRef": SECRET | {"name": "s", "namespace": "creds"}},
            id="the secret behind the SecretBinding",
        ),
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS]}, "credentialsBindingName": "b"},
            [
                binding(
                    "CredentialsBinding",
                    credentialsRef={
                        "apiVersion": "security.gardener.cloud/v1alpha1",
                        "kind": "WorkloadIdentity",
                        "name": "w",
                        "namespace": "creds",
                    },
                )
            ],
            {
                "type": "route53",
                "credentialsRef": {
                    "apiVersion": "security.gardener.cloud/v1alpha1",
                    "kind": "WorkloadIdentity",
                    "name": "w",
                    "namespace": "creds",
                },
            },
            id="the credentials behind the CredentialsBinding",
        ),
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS | {"secretName": "s"}]}},
            [],
            {"type": "route53", "credentialsRef": SECRET | {"name": "s"}},
            id="the secret that the provider names",
        ),
        pytest.param(
            {"dns": {"providers": [UNMANAGED]}},
            [make_seed("parent", spec=SEED_DEFAULTS)],
            {"type": "e", "credentialsRef": SECRET | {"name": "e"}},
            id="a default domain of its seed",
        ),
        pytest.param(
            {"dns": {"providers": None}},
            [default_domain("d", "example.org")],
            {"type": "google", "credentialsRef": SECRET | {"name": "d"}},
            id="a default domain of the garden",
        ),
    ],
)
def test_where_the_dns_provider_comes_from(
    spec: dict[str, Any], around: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    result, warnings = default(managed(seedTemplate={}), shoot(**spec), *around)
    assert result["spec"]["seedTemplate"]["spec"]["dns"]["provider"] == expected
    assert warnings == ()


@pytest.mark.parametrize(
    ("spec", "around", "reason"),
    [
        pytest.param(
            {"dns": {"providers": None}},
            [],
            "neither custom nor a default domain",
            id="none at all",
        ),
        pytest.param(
            {"dns": {"providers": None}},
            [default_domain("d", "ample.org")],
            "neither custom nor a default domain",
            id="a domain that only ends alike",
        ),
        pytest.param(
            {"dns": {"providers": None}},
            [default_domain("d", "example.org", labels={names.ROLE: "x"})],
            "neither custom nor a default domain",
            id="a secret with another role",
        ),
        pytest.param({"dns": {"providers": [{"primary": True}]}}, [], "has no type", id="no type"),
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS]}},
            [],
            "names no credentials",
            id="no credentials",
        ),
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS]}, "secretBindingName": "b"},
            [],
            "SecretBinding garden/b does not exist",
            id="no such SecretBinding",
        ),
        pytest.param(
            {"dns": {"providers": [NO_CREDENTIALS]}, "credentialsBindingName": "b"},
            [],
            "CredentialsBinding garden/b does not exist",
            id="no such CredentialsBinding",
        ),
    ],
)
def test_a_provider_that_cannot_be_derived_is_a_warning(
    spec: dict[str, Any], around: list[dict[str, Any]], reason: str
) -> None:
    result, warnings = default(managed(seedTemplate={}), shoot(**spec), *around)
    assert "provider" not in result["spec"]["seedTemplate"]["spec"]["dns"]
    assert len(warnings) == 1
    assert reason in warnings[0]
