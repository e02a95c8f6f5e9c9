"""Filters: every filter on both sides of its edge, with one seed and one shoot."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.support.landscape_objects import (
    ANYWAY,
    MULTI_ZONE,
    make_managed_seed,
    make_profile,
    make_project,
    make_seed,
    make_shoot,
    raw_seed,
    read,
)
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import Draft, Object
from webhook.scheduling.columns import Rejection
from webhook.scheduling.filters import (
    access_restrictions,
    availability,
    capacity,
    domains,
    emergency_stop,
    managed,
    networks,
    profile_selector,
    provider,
    seed_selector,
    taints,
    usable,
    zone_selection,
)
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER
from webhook.state.snapshot import Snapshot

StepRejection = tuple[str, Rejection] | None


def first_rejection(
    seed: Seed,
    shoot: Shoot | None = None,
    objects: Sequence[Object] = (),
    options: Options | None = None,
    gardener: bool = False,
) -> StepRejection:
    """Return the step that rejects the seed and its reason, if any."""
    known = [seed, *objects]
    if not any(type(each).__name__ == "CloudProfile" for each in objects):
        known.append(make_profile())
    snapshot = Snapshot.of(known, options=options)
    profile = GARDENER if gardener else DEFAULT
    return place(shoot or make_shoot(), [seed], snapshot, profile).rejected.get(seed.name)


def changed(**changes: Any) -> Seed:
    """Return a seed with parts of its status or metadata replaced; None removes a part."""
    raw: Draft = raw_seed(**changes.pop("spec", {}))
    for path, value in changes.items():
        section, _, field = path.partition("_")
        if value is None:
            raw[section].pop(field, None)
        else:
            raw[section][field] = value
    return read(Seed, raw)


READY = {"type": "GardenletReady", "status": "True"}
BACKUP = {"provider": "aws"}


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        pytest.param(make_seed(), None, id="usable"),
        pytest.param(
            changed(metadata_deletionTimestamp="2026-01-01T00:00:00Z"),
            usable.DELETING,
            id="deleting",
        ),
        pytest.param(
            make_seed(settings={"scheduling": {"visible": False}}), usable.INVISIBLE, id="invisible"
        ),
        pytest.param(make_seed(settings={"scheduling": {}}), None, id="visible by default"),
        pytest.param(make_seed(settings={}), None, id="visible without settings for scheduling"),
        pytest.param(changed(status_lastOperation=None), usable.NOT_STARTED, id="never reconciled"),
        pytest.param(make_seed(ready=False), usable.GARDENLET_NOT_READY, id="gardenlet not ready"),
        pytest.param(
            changed(status_conditions=[{**READY, "status": "Unknown"}]),
            usable.GARDENLET_NOT_READY,
            id="gardenlet unknown",
        ),
        pytest.param(
            changed(status_conditions=[]), usable.GARDENLET_NOT_READY, id="no gardenlet condition"
        ),
        pytest.param(make_seed(backup=BACKUP), usable.BACKUP_NOT_READY, id="backup not ready"),
        pytest.param(
            changed(
                spec={"backup": BACKUP},
                status_conditions=[READY, {"type": "BackupBucketsReady", "status": "True"}],
            ),
            None,
            id="backup ready",
        ),
        pytest.param(
            changed(status_conditions=[READY, {"type": "ExtensionsReady", "status": "False"}]),
            None,
            id="extensions do not matter",
        ),
        pytest.param(make_seed(shoots="many"), usable.MALFORMED, id="bad quantity"),
        pytest.param(
            make_seed(networks={"pods": "everywhere"}), usable.MALFORMED, id="bad address range"
        ),
        pytest.param(read(Seed, {"metadata": {"name": "bare"}}), usable.NOT_STARTED, id="bare"),
    ],
)
def test_usable(seed: Seed, expected: Rejection | None) -> None:
    assert first_rejection(seed) == (("usable", expected) if expected else None)


SELECTOR = {"matchLabels": {"tier": "gold"}}
NOT_IN = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        pytest.param({}, {}, True, id="empty selector"),
        pytest.param(SELECTOR, {"tier": "gold"}, True, id="label matches"),
        pytest.param(SELECTOR, {"tier": "tin"}, False, id="other value"),
        pytest.param(SELECTOR, {}, False, id="label missing"),
        pytest.param(NOT_IN, {}, True, id="expression on a missing label"),
        pytest.param(NOT_IN, {"tier": "gold"}, False, id="expression does not match"),
        pytest.param(
            {"matchExpressions": [{"key": "tier", "operator": "Like"}]},
            {"tier": "gold"},
            False,
            id="a malformed selector matches nothing",
        ),
    ],
)
def test_selectors(selector: Draft, labels: dict[str, str], matches: bool) -> None:
    seed = make_seed(labels=labels)
    own = None if matches else ("seedSelector", seed_selector.NOT_SELECTED)
    assert first_rejection(seed, make_shoot(seedSelector=selector)) == own
    of_profile = None if matches else ("profileSelector", profile_selector.NOT_SELECTED)
    assert first_rejection(seed, objects=[make_profile(seedSelector=selector)]) == of_profile


def test_no_seed_without_a_cloud_profile() -> None:
    found = first_rejection(make_seed(), objects=[make_profile("gcp")])
    assert found == ("profileSelector", profile_selector.NO_PROFILE)


@pytest.mark.parametrize(
    ("seed_provider", "of_profile", "own", "expected", "upstream"),
    [
        pytest.param("aws", [], [], None, None, id="same"),
        pytest.param("gcp", [], [], provider.OTHER_PROVIDER, provider.OTHER_PROVIDER, id="other"),
        pytest.param("gcp", ["gcp"], [], None, None, id="allowed by the profile"),
        pytest.param(
            "aws", ["gcp"], [], provider.NOT_ALLOWED, provider.NOT_ALLOWED, id="not in the list"
        ),
        pytest.param("gcp", ["*"], [], None, None, id="all allowed"),
        pytest.param("aws", [], ["gcp"], provider.NOT_WANTED, None, id="not in the shoot's list"),
        pytest.param("aws", [], ["aws"], None, None, id="in the shoot's list"),
    ],
)
def test_provider(
    seed_provider: str,
    of_profile: list[str],
    own: list[str],
    expected: Rejection | None,
    upstream: Rejection | None,
) -> None:
    # Shoots of purpose `testing` ignore the region, so only providers matter.
    seed = make_seed(provider=seed_provider)
    profile = make_profile(seedSelector={"providerTypes": of_profile})
    shoot = make_shoot(seedSelector={"providerTypes": own}, affinity="preferred", purpose="testing")
    assert first_rejection(seed, shoot, [profile]) == (("provider", expected) if expected else None)
    if upstream is not None or seed_provider == "aws":
        found = first_rejection(seed, shoot, [profile], gardener=True)
        assert found == (("provider", upstream) if upstream else None)


ENFORCE = {"zoneSelection": {"mode": "Enforce"}}


@pytest.mark.parametrize(
    ("seed", "shoot", "expected"),
    [
        pytest.param(make_seed(), make_shoot(zones=("x",)), None, id="no zoneSelection"),
        pytest.param(
            make_seed(settings=ENFORCE),
            make_shoot(zones=("x",)),
            zone_selection.NO_OVERLAP,
            id="zoneSelection is enforced",
        ),
        pytest.param(
            make_seed(settings=ENFORCE), make_shoot(zones=("x", "a")), None, id="one zone in common"
        ),
        pytest.param(
            make_seed(settings=ENFORCE), make_shoot(zones=()), None, id="no zones to compare"
        ),
        pytest.param(
            make_seed(zones=("a", "b")),
            make_shoot(controlPlane={"zones": ["b"]}),
            None,
            id="pinned zone is there",
        ),
        pytest.param(
            make_seed(zones=("a", "b")),
            make_shoot(controlPlane={"zones": ["c"]}),
            zone_selection.NOT_PINNED,
            id="pinned zone is missing",
        ),
        pytest.param(
            make_seed(zones=("a", "b", "c"), settings=ENFORCE),
            make_shoot(zones=("x",), ha=MULTI_ZONE),
            None,
            id="ignored for multi-zone shoots",
        ),
        pytest.param(
            make_seed(zones=("a", "b", "c")),
            make_shoot(ha=MULTI_ZONE, controlPlane={"zones": ["a", "b", "x"]}),
            zone_selection.NOT_PINNED,
            id="pinned zones of multi-zone shoots count",
        ),
    ],
)
def test_zone_selection(seed: Seed, shoot: Shoot, expected: Rejection | None) -> None:
    assert first_rejection(seed, shoot) == (("zoneSelection", expected) if expected else None)


@pytest.mark.parametrize(
    ("offered", "wanted", "expected"),
    [
        pytest.param([], [], None, id="none wanted"),
        pytest.param(["eu"], [], None, id="more offered"),
        pytest.param(["eu", "us"], ["us"], None, id="offered"),
        pytest.param(["eu"], ["us"], access_restrictions.UNSUPPORTED, id="another"),
        pytest.param(["eu"], ["eu", "eu"], access_restrictions.UNSUPPORTED, id="numbers count"),
    ],
)
def test_access_restrictions(
    offered: list[str], wanted: list[str], expected: Rejection | None
) -> None:
    seed = make_seed(accessRestrictions=[{"name": name} for name in offered])
    shoot = make_shoot(accessRestrictions=[{"name": name} for name in wanted])
    assert first_rejection(seed, shoot) == (("accessRestrictions", expected) if expected else None)


@pytest.mark.parametrize(
    ("domain", "defaults", "expected"),
    [
        pytest.param("", ["x.io"], None, id="no domain"),
        pytest.param("shoot.dev.x.io", ["x.io"], None, id="default domain of this seed"),
        pytest.param("my.own", ["x.io"], None, id="a domain of its own"),
        pytest.param(
            "other.dev.x.io",
            ["x.io"],
            domains.UNSUPPORTED,
            id="not this shoot in the default domain",
        ),
        pytest.param("foo-x.io", ["x.io"], None, id="the dot matters"),
        pytest.param("shoot.dev.x.io", ["y.io"], None, id="not a default domain of a seed"),
    ],
)
def test_domains(domain: str, defaults: list[str], expected: Rejection | None) -> None:
    seed = make_seed(dns={"defaults": [{"domain": name} for name in defaults]})
    shoot = make_shoot(dns={"domain": domain})
    found = first_rejection(seed, shoot, [make_project(), make_profile()])
    assert found == (("domain", expected) if expected else None)


def test_domain_of_another_seed_rejects_this_one() -> None:
    here = make_seed("here", dns={"defaults": [{"domain": "x.io"}]})
    there = make_seed("there", dns={"defaults": [{"domain": "y.io"}]})
    snapshot = Snapshot.of([here, there, make_profile(), make_project()])
    result = place(make_shoot(dns={"domain": "shoot.dev.x.io"}), [here, there], snapshot)
    assert result.seed == "here"
    assert result.rejected == {"there": ("domain", domains.UNSUPPORTED)}


def test_without_projects_any_name_below_a_default_domain_matches() -> None:
    seed = make_seed(dns={"defaults": [{"domain": "x.io"}]})
    assert first_rejection(seed, make_shoot(dns={"domain": "any.thing.x.io"})) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("true", emergency_stop.STOPPED, id="stopped"),
        pytest.param("false", None, id="not stopped"),
    ],
)
def test_emergency_stop(value: str, expected: Rejection | None) -> None:
    seed = make_seed(annotations={"shoot.gardener.cloud/emergency-stop-reconciliations": value})
    assert first_rejection(seed) == (("emergencyStop", expected) if expected else None)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({}, None, id="neither deleted nor chosen"),
        pytest.param(
            {"deletionTimestamp": "2026-01-01T00:00:00Z"}, managed.LEAVING, id="being deleted"
        ),
        pytest.param(
            {"annotations": {"espalier.gardener.cloud/scale-in": "true"}},
            managed.LEAVING,
            id="chosen for scale-in",
        ),
    ],
)
def test_managed(metadata: Draft, expected: Rejection | None) -> None:
    objects = [make_managed_seed("seed", metadata=metadata), make_profile()]
    assert first_rejection(make_seed(), objects=objects) == (
        ("managedSeed", expected) if expected else None
    )
    assert first_rejection(make_seed(), objects=objects, gardener=True) is None


V4 = {"nodes": "10.0.0.0/16", "pods": "100.64.0.0/12", "services": "100.96.0.0/13"}
V6 = {"ipFamilies": ["IPv6"], "pods": "2001:db8:1::/48", "services": "2001:db8:2::/108"}
SEED_V6 = {"pods": "2001:db8:5::/48", "services": "2001:db8:6::/108", "nodes": "2001:db8:7::/48"}


@pytest.mark.parametrize(
    ("of_seed", "networking", "expected"),
    [
        pytest.param({}, None, None, id="no networking"),
        pytest.param({}, V4, None, id="apart"),
        pytest.param({}, {**V4, "pods": "10.241.0.0/16"}, None, id="IPv4 may overlap"),
        pytest.param(SEED_V6, V6, None, id="IPv6 apart"),
        pytest.param(
            SEED_V6, {**V6, "pods": "2001:db8:5::/64"}, networks.OVERLAP, id="IPv6 pods overlap"
        ),
        pytest.param(
            SEED_V6, {**V6, "nodes": "2001:db8:7::/64"}, networks.OVERLAP, id="IPv6 nodes overlap"
        ),
        pytest.param(
            SEED_V6, {**V6, "services": "2001:db8:6::/112"}, networks.OVERLAP, id="IPv6 services"
        ),
        pytest.param({}, {**V4, "pods": "243.0.0.0/16"}, networks.RESERVED, id="reserved IPv4"),
        pytest.param(
            SEED_V6, {**V6, "pods": "fd8f:6d53:b97a:1::/112"}, networks.RESERVED, id="reserved IPv6"
        ),
        pytest.param({}, {**V4, "pods": "nowhere"}, networks.MALFORMED, id="unreadable"),
        pytest.param(
            {"shootDefaults": {"pods": "244.0.0.0/16", "services": "100.1.0.0/16"}},
            {"nodes": "10.0.0.0/16"},
            networks.RESERVED,
            id="a default of the seed is reserved",
        ),
        pytest.param(
            {**SEED_V6, "shootDefaults": {"pods": "2001:db8:5::/64", "services": "100.1.0.0/16"}},
            {"ipFamilies": ["IPv6"], "services": "2001:db8:2::/108"},
            networks.OVERLAP,
            id="a default of the seed overlaps",
        ),
        pytest.param(
            {**SEED_V6, "shootDefaults": {"pods": "2001:db8:5::/64", "services": "100.1.0.0/16"}},
            {"ipFamilies": ["IPv4"]},
            None,
            id="a default of another family is not taken",
        ),
    ],
)
def test_networks(of_seed: Draft, networking: Draft | None, expected: Rejection | None) -> None:
    seed = make_seed(networks=of_seed)
    shoot = make_shoot() if networking is None else make_shoot(networking=networking)
    assert first_rejection(seed, shoot) == (("networks", expected) if expected else None)


def test_networks_in_the_status_of_a_shoot_are_compared_too() -> None:
    seed = make_seed(networks=SEED_V6)
    raw = {"pods": ["2001:db8:5::/64"], "services": ["2001:db8:2::/108"]}
    shoot = make_shoot(networking=V6)
    moving = read_with_status(shoot, raw)
    assert first_rejection(seed, moving) == ("networks", networks.OVERLAP)
    assert first_rejection(seed, read_with_status(shoot, {"pods": ["10.0.0.0/8"]})) == (
        "networks",
        networks.INCOMPLETE,
    )


def read_with_status(shoot: Shoot, networking: Draft) -> Shoot:
    raw = msgspec.to_builtins(shoot)
    raw["status"] = {"networking": networking}
    return read(Shoot, raw)


def test_taints() -> None:
    seed = make_seed(taints=[{"key": "seed.gardener.cloud/protected"}])
    assert first_rejection(seed) == ("taints", taints.NOT_TOLERATED)
    tolerant = make_shoot(tolerations=[{"key": "seed.gardener.cloud/protected"}])
    assert first_rejection(seed, tolerant) is None


def test_capacity_of_every_resource() -> None:
    seed = make_seed(shoots=2, allocatable={"persistent-volumes": 5})
    one, two = (make_shoot(name, seed="seed") for name in ("one", "two"))
    assert first_rejection(seed, objects=[one, make_profile()]) is None
    found = first_rejection(seed, objects=[one, two, make_profile()])
    assert found == ("capacity", capacity.full("shoots"))
    big = make_seed(shoots=2, allocatable={"persistent-volumes": 3}, zones=("a", "b", "c"))
    found = first_rejection(big, make_shoot(ha=MULTI_ZONE), [one, make_profile()])
    assert found == ("capacity", capacity.full("persistent-volumes"))
    assert not capacity.full("shoots").final


def test_capacity_without_a_limit() -> None:
    seed = make_seed(shoots=None)
    crowd = [make_shoot(f"shoot-{index}", seed="seed") for index in range(300)]
    assert first_rejection(seed, objects=[*crowd, make_profile()]) is None
    assert first_rejection(seed, objects=[*crowd, make_profile()], gardener=True) is None


def test_headroom_is_kept_free() -> None:
    seed = make_seed(shoots=3)
    options = Options(scheduling=SchedulingOptions(headroom=2))
    one = make_shoot("one", seed="seed")
    full = ("capacity", capacity.full("shoots"))
    assert first_rejection(seed, options=options) is None
    assert first_rejection(seed, objects=[one, make_profile()], options=options) == full
    assert (
        first_rejection(seed, objects=[one, make_profile()], options=options, gardener=True) == full
    )


def test_a_shoot_needs_no_capacity_on_a_seed_that_counts_it_already() -> None:
    seed = make_seed(shoots=1)
    here = make_shoot(actual_seed="seed")
    assert first_rejection(seed, here, [here, make_profile()]) is None


TOLERANT = {**MULTI_ZONE, "failureTolerance": 2}


@pytest.mark.parametrize(
    ("zones", "label", "ha", "expected", "upstream"),
    [
        pytest.param(3, "", MULTI_ZONE, None, True, id="three zones"),
        pytest.param(3, "true", MULTI_ZONE, None, True, id="three zones and a label"),
        pytest.param(
            3, "false", MULTI_ZONE, availability.NOT_MULTI_ZONAL, True, id="the label is false"
        ),
        pytest.param(
            2,
            "true",
            MULTI_ZONE,
            availability.NOT_MULTI_ZONAL,
            False,
            id="a label without zones",
        ),
        pytest.param(1, "", MULTI_ZONE, availability.NOT_MULTI_ZONAL, False, id="one zone"),
        pytest.param(
            3, "", TOLERANT, availability.TOO_FEW_ZONES, True, id="two failures need five"
        ),
        pytest.param(4, "", TOLERANT, availability.TOO_FEW_ZONES, True, id="four are not five"),
        pytest.param(5, "", TOLERANT, None, True, id="five zones"),
        pytest.param(1, "", None, None, True, id="one zone suffices without high availability"),
    ],
)
def test_availability(
    zones: int, label: str, ha: Draft | None, expected: Rejection | None, upstream: bool
) -> None:
    labels = {"seed.gardener.cloud/multi-zonal": label} if label else {}
    seed = make_seed(zones=tuple("abcde"[:zones]), labels=labels)
    shoot = make_shoot(ha=ha)
    assert first_rejection(seed, shoot) == (("highAvailability", expected) if expected else None)
    found = first_rejection(seed, shoot, gardener=True)
    assert found == (None if upstream else ("highAvailability", availability.NOT_MULTI_ZONAL))


def test_profile_gardener_ignores_schedule_anyway() -> None:
    assert first_rejection(make_seed(), make_shoot(ha=ANYWAY)) is None
    found = first_rejection(make_seed(), make_shoot(ha=ANYWAY), gardener=True)
    assert found == ("highAvailability", availability.NOT_MULTI_ZONAL)
