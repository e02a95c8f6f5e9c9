"""seed.spec: the spec of a seed is valid, and immutable fields stay."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import CREDENTIALS, make_object, make_seed, make_shoot, merged
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

STRICT = Options(admission=AdmissionOptions(strict_seeds=True))
OPERATION = f"metadata.annotations[{names.OPERATION}]"
IDENTITY = "security.gardener.cloud/v1alpha1"


def spec(**changes: Any) -> dict[str, Any]:
    return {"spec": changes}


def seed(*changes: dict[str, Any]) -> dict[str, Any]:
    result = make_seed()
    for change in changes:
        result = merged(result, change)
    return result


def nets(**networks: Any) -> dict[str, Any]:
    return spec(networks=networks)


@pytest.mark.parametrize(
    ("provider", "known_to", "refused"),
    [
        pytest.param("local", "local", False, id="of the same provider"),
        pytest.param("aws", "local", True, id="of another provider"),
        pytest.param("local", "", False, id="without a provider"),
    ],
)
def test_backups_with_a_workload_identity(provider: str, known_to: str, refused: bool) -> None:
    reference = {"apiVersion": IDENTITY, "kind": "WorkloadIdentity", "namespace": "garden"}
    backup = {"provider": provider, "region": "r", "credentialsRef": {**reference, "name": "me"}}
    identity = make_object(
        *(IDENTITY, "WorkloadIdentity", "me", "garden"),
        spec={"targetSystem": {"type": known_to}},
    )
    around = [identity] if known_to else []
    result = validate("seed.spec", seed(spec(backup=backup)), around=around)
    assert result.refused == ({("spec.backup.credentialsRef", "Denied")} if refused else set())


DUAL = {"ipFamilies": ["IPv4", "IPv6"]}
SIX = {
    "ipFamilies": ["IPv6"],
    "nodes": "fd00:1::/64",
    "pods": "fd00:2::/64",
    "services": "fd00:3::/108",
}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({}, set(), id="a plain seed"),
        pytest.param(
            spec(provider={"type": None}), {("spec.provider.type", "Required")}, id="no type"
        ),
        pytest.param(
            spec(provider={"region": None}), {("spec.provider.region", "Required")}, id="no region"
        ),
        pytest.param(nets(pods=None), {("spec.networks.pods", "Required")}, id="no pods"),
        pytest.param(
            nets(services=None), {("spec.networks.services", "Required")}, id="no services"
        ),
        pytest.param(nets(nodes=None), set(), id="no nodes"),
        pytest.param(nets(nodes=""), {("spec.networks.nodes", "Invalid")}, id="nodes of no range"),
        pytest.param(
            spec(provider={"zones": ["a", "b", "a"]}),
            {("spec.provider.zones[2]", "Duplicate")},
            id="a zone twice",
        ),
        pytest.param(nets(pods="10.2.0.0"), {("spec.networks.pods", "Invalid")}, id="no range"),
        pytest.param(nets(pods="ten"), {("spec.networks.pods", "Invalid")}, id="no address"),
        pytest.param(nets(pods="10.2.3.4/16"), set(), id="a range that is not canonical"),
        pytest.param(
            nets(pods="10.1.0.0/24"), {("spec.networks.nodes", "Invalid")}, id="pods among nodes"
        ),
        pytest.param(
            nets(services="10.2.4.0/24"),
            {("spec.networks.services", "Invalid")},
            id="services among pods",
        ),
        pytest.param(
            nets(pods="fd00::/64"), {("spec.networks.pods", "Invalid")}, id="another family"
        ),
        pytest.param(nets(pods="fd00::/64", **DUAL), set(), id="another family on dual-stack"),
        pytest.param(nets(**SIX), set(), id="all IPv6"),
        pytest.param(
            nets(services="12.0.0.0/8", pods="10.2.0.0/16"), set(), id="services as large as a /8"
        ),
        pytest.param(
            nets(services="12.0.0.0/7"),
            {("spec.networks.services", "Invalid")},
            id="services larger than a /8",
        ),
        pytest.param(
            nets(pods="243.1.0.0/16"), {("spec.networks.pods", "Invalid")}, id="a reserved range"
        ),
        pytest.param(nets(pods="245.0.0.0/16"), set(), id="just beside it"),
        pytest.param(
            nets(shootDefaults={"pods": "10.2.0.0/16", "services": "10.3.0.0/16"}),
            set(),
            id="shoots may have the seed's IPv4 ranges",
        ),
        pytest.param(
            nets(shootDefaults={"pods": "10.4.0.0/16", "services": "10.4.1.0/24"}),
            {("spec.networks.shootDefaults.services", "Invalid")},
            id="shoots' ranges overlap with each other",
        ),
        pytest.param(
            nets(**SIX, shootDefaults={"pods": "fd00:2::/80"}),
            {("spec.networks.shootDefaults.pods", "Invalid")},
            id="shoots may not have the seed's IPv6 ranges",
        ),
        pytest.param(
            nets(blockCIDRs=["169.254.169.254/32", "x"]),
            set(),
            id="a blocked range that is none, which Gardener takes",
        ),
        pytest.param(
            nets(ipFamilies=["IPv4", "IPv4"]),
            {("spec.networks.ipFamilies[1]", "Duplicate")},
            id="a family twice",
        ),
        pytest.param(
            nets(ipFamilies=["IPv4", "IPv5"]),
            {("spec.networks.ipFamilies[1]", "NotSupported")},
            id="an unknown family",
        ),
        pytest.param(
            spec(taints=[{"key": "a"}, {"key": "a", "value": "b"}]), set(), id="different taints"
        ),
        pytest.param(
            spec(taints=[{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]),
            {("spec.taints[1]", "Duplicate")},
            id="a taint twice",
        ),
        pytest.param(
            spec(taints=[{"value": "b"}]), {("spec.taints[0].key", "Required")}, id="no key"
        ),
        pytest.param(
            spec(backup={"provider": "s3", "credentialsRef": {"name": "c"}}),
            {("spec.backup.region", "Invalid")},
            id="backups elsewhere without a region",
        ),
        pytest.param(
            spec(backup={"provider": "s3", "region": "r", "credentialsRef": {"name": "c"}}),
            set(),
            id="backups elsewhere",
        ),
        pytest.param(
            spec(ingress={"domain": "Not A Domain"}),
            {("spec.ingress.domain", "Invalid")},
            id="no domain",
        ),
        pytest.param(
            spec(ingress={"controller": {"kind": "traefik"}}),
            {("spec.ingress.controller.kind", "NotSupported")},
            id="another ingress controller",
        ),
        pytest.param(
            spec(dns={"defaults": [{"domain": "a.b"}, {"domain": "a.b"}]}),
            {("spec.dns.defaults[1].domain", "Duplicate")},
            id="a default domain twice",
        ),
        pytest.param(
            spec(settings={"topologyAwareRouting": {"enabled": True}}),
            {("spec.settings.topologyAwareRouting.enabled", "Forbidden")},
            id="topology-aware routing in one zone",
        ),
        pytest.param(
            spec(
                settings={"topologyAwareRouting": {"enabled": True}},
                provider={"zones": ["a", "b"]},
            ),
            set(),
            id="topology-aware routing over two zones",
        ),
        pytest.param(
            spec(settings={"loadBalancerServices": {"zones": [{"name": "a"}]}}),
            {("spec.settings.loadBalancerServices.zones", "Forbidden")},
            id="load balancers by zone in one zone",
        ),
        pytest.param(
            spec(
                settings={"loadBalancerServices": {"zones": [{"name": "a"}, {"name": "x"}]}},
                provider={"zones": ["a", "b"]},
            ),
            {("spec.settings.loadBalancerServices.zones[1].name", "NotSupported")},
            id="load balancers in an unknown zone",
        ),
        pytest.param(
            spec(
                settings={"loadBalancerServices": {"zones": [{"name": "a"}, {"name": "a"}]}},
                provider={"zones": ["a", "b"]},
            ),
            {("spec.settings.loadBalancerServices.zones[1].name", "Duplicate")},
            id="load balancers for a zone twice",
        ),
        pytest.param(
            spec(settings={"zoneSelection": {"mode": "Prefer"}}), set(), id="preferred zones"
        ),
        pytest.param(
            spec(settings={"zoneSelection": {"mode": "Guess"}}),
            {("spec.settings.zoneSelection.mode", "NotSupported")},
            id="an unknown selection of zones",
        ),
        pytest.param(
            spec(settings={"zoneSelection": {"mode": "Prefer"}}, provider={"zones": []}),
            {("spec.settings.zoneSelection", "Forbidden")},
            id="selection among no zones",
        ),
        pytest.param(
            {"metadata": {"annotations": {names.OPERATION: "reconcile"}}}, set(), id="an operation"
        ),
        pytest.param(
            {"metadata": {"annotations": {names.OPERATION: "dance"}}},
            {(OPERATION, "NotSupported")},
            id="an unknown operation",
        ),
        pytest.param(
            {"metadata": {"name": "a.b"}}, {("metadata.name", "Invalid")}, id="a name with a dot"
        ),
    ],
)
def test_one_seed(changes: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("seed.spec", seed(changes)).refused == refused


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param(spec(ingress=None), "spec.ingress", id="no ingress"),
        pytest.param(spec(ingress={"domain": None}), "spec.ingress.domain", id="no ingress domain"),
        pytest.param(spec(dns={"provider": None}), "spec.dns.provider", id="no DNS provider"),
        pytest.param(
            spec(dns={"provider": {"type": None}}), "spec.dns.provider.type", id="no type of it"
        ),
        pytest.param(
            spec(dns={"provider": {"credentialsRef": None}}),
            "spec.dns.provider.credentialsRef",
            id="no credentials for it",
        ),
        pytest.param(spec(dns={"internal": None}), "spec.dns.internal", id="no internal domain"),
        pytest.param(
            spec(backup={"credentialsRef": CREDENTIALS, "region": "here"}),
            "spec.backup.provider",
            id="no backup provider",
        ),
        pytest.param(
            spec(backup={"provider": "local"}),
            "spec.backup.credentialsRef",
            id="no backup credentials",
        ),
    ],
)
def test_a_missing_field_is_a_warning_unless_validation_is_strict(
    changes: dict[str, Any], field: str
) -> None:
    lenient, strict = (
        validate("seed.spec", seed(changes)),
        validate("seed.spec", seed(changes), options=STRICT),
    )
    assert (lenient.refused, lenient.warned) == (set(), {field})
    assert (strict.refused, strict.warned) == ({(field, "Required")}, set())


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        pytest.param({}, set(), id="whole"),
        pytest.param({"kind": "WorkloadIdentity", "apiVersion": IDENTITY}, set(), id="an identity"),
        pytest.param({"name": None}, {".name"}, id="no name"),
        pytest.param({"name": "Not valid"}, {".name"}, id="no valid name"),
        pytest.param({"namespace": ""}, {".namespace"}, id="no namespace"),
        pytest.param({"namespace": "A"}, {".namespace"}, id="no valid namespace"),
        pytest.param({"kind": None}, {".kind", ""}, id="no kind"),
        pytest.param({"apiVersion": None}, {".apiVersion", ""}, id="no version"),
        pytest.param({"kind": "ConfigMap"}, {""}, id="what has no credentials"),
        pytest.param({"kind": "WorkloadIdentity"}, {""}, id="an identity of another group"),
    ],
)
def test_parts_of_references_if_validation_is_strict(
    changes: dict[str, Any], fields: set[str]
) -> None:
    reference = merged(CREDENTIALS, changes)
    written = spec(
        backup={"provider": "local", "credentialsRef": reference},
        dns={
            "provider": {"type": "d", "credentialsRef": reference},
            "internal": {"credentialsRef": reference},
        },
    )
    bare = make_seed()
    for part in ("provider", "internal"):
        del bare["spec"]["dns"][part]["credentialsRef"]
    found = merged(bare, written)
    assert validate("seed.spec", found).refused == set()
    holders = ("spec.backup", "spec.dns.provider", "spec.dns.internal")
    wanted = {f"{each}.credentialsRef{field}" for each in holders for field in fields}
    assert validate("seed.spec", found, options=STRICT).fields == wanted


def test_an_internal_domain_without_credentials_lacks_every_part_of_them() -> None:
    result = validate(
        "seed.spec", seed(spec(dns={"internal": {"credentialsRef": None}})), options=STRICT
    )
    base = "spec.dns.internal.credentialsRef"
    parts = ("", ".apiVersion", ".kind", ".name", ".namespace")
    assert result.fields == {f"{base}{part}" for part in parts}


BACKUP = spec(backup={"provider": "local", "region": "r", "credentialsRef": {"name": "c"}})
DEFAULTS = spec(dns={"defaults": [{"domain": "a.example.org"}, {"domain": "b.example.org"}]})
HOSTED = make_shoot(spec={"seedName": "seed", "dns": {"domain": "s.p.a.example.org"}})


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param({}, {}, set(), id="nothing"),
        pytest.param({}, nets(pods="10.9.0.0/16"), {"spec.networks.pods"}, id="pods"),
        pytest.param({}, nets(services="10.9.0.0/16"), {"spec.networks.services"}, id="services"),
        pytest.param({}, nets(nodes="10.9.0.0/16"), {"spec.networks.nodes"}, id="nodes"),
        pytest.param({}, nets(nodes=None), {"spec.networks.nodes"}, id="nodes removed"),
        pytest.param(nets(nodes=None), {}, set(), id="nodes set"),
        pytest.param({}, nets(**DUAL), {"spec.networks.ipFamilies"}, id="families"),
        pytest.param({}, nets(ipFamilies=["IPv4"]), set(), id="families spelled out"),
        pytest.param({}, spec(ingress={"domain": "x.org"}), {"spec.ingress.domain"}, id="domain"),
        pytest.param(BACKUP, {}, {"spec.backup"}, id="backup removed"),
        pytest.param({}, BACKUP, set(), id="backup added"),
        pytest.param(
            BACKUP,
            merged(BACKUP, spec(backup={"provider": "s3"})),
            {"spec.backup.provider"},
            id="backup provider",
        ),
        pytest.param(
            BACKUP,
            merged(BACKUP, spec(backup={"region": "x"})),
            {"spec.backup.region"},
            id="backup region",
        ),
        pytest.param(DEFAULTS, {}, {"spec.dns.defaults"}, id="all default domains removed"),
        pytest.param(
            DEFAULTS,
            spec(dns={"defaults": [{"domain": "b.example.org"}]}),
            set(),
            id="one default domain removed",
        ),
        pytest.param({}, spec(provider={"type": "aws"}), set(), id="provider type"),
    ],
)
def test_immutable_fields(old: dict[str, Any], new: dict[str, Any], refused: set[str]) -> None:
    assert validate("seed.spec", seed(new), seed(old)).fields == refused


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param(
            DEFAULTS,
            spec(dns={"defaults": [{"domain": "b.example.org"}]}),
            {("spec.dns.defaults", "Denied")},
            id="a default domain that a shoot uses",
        ),
        pytest.param(
            DEFAULTS,
            spec(dns={"defaults": [{"domain": "a.example.org"}]}),
            set(),
            id="a default domain that none uses",
        ),
        pytest.param(
            {},
            spec(dns={"internal": {"domain": "other.org"}}),
            {("spec.dns.internal.domain", "Denied")},
            id="the internal domain",
        ),
        pytest.param({}, spec(dns={"internal": None}), set(), id="the internal domain removed"),
    ],
)
def test_domains_in_use_stay(
    old: dict[str, Any], new: dict[str, Any], refused: set[tuple[str, str]]
) -> None:
    assert validate("seed.spec", seed(new), seed(old), around=[HOSTED]).refused == refused


def test_domains_of_an_empty_seed_can_change() -> None:
    new = seed(spec(dns={"internal": {"domain": "other.org"}}))
    assert validate("seed.spec", new, seed()).refused == set()


def test_a_pending_operation_cannot_be_replaced() -> None:
    first = seed({"metadata": {"annotations": {names.OPERATION: "reconcile"}}})
    second = seed({"metadata": {"annotations": {names.OPERATION: "renew-kubeconfig"}}})
    assert validate("seed.spec", second, first).refused == {(OPERATION, "Forbidden")}
    assert validate("seed.spec", first, first).refused == set()
    assert validate("seed.spec", seed(), first).refused == set()


def test_the_label_of_a_self_hosted_seed_stays() -> None:
    label = {"metadata": {"labels": {names.SELF_HOSTED_SHOOT: "true"}}}
    field = f"metadata.labels[{names.SELF_HOSTED_SHOOT}]"
    assert validate("seed.spec", seed(), seed(label)).refused == {(field, "Denied")}
    assert validate("seed.spec", seed(label), seed(label)).refused == set()
