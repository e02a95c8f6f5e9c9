"""The demo landscape holds what its tour shows, and every kind is in KINDS."""

from collections import Counter
from itertools import pairwise

import msgspec

from webhook.api import names
from webhook.api.kinds import find_kind
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.landscapes import demo, gardenerdemo
from webhook.dev.localprovider.simulation import DARK
from webhook.kube.meta import Draft


def _of(kind: str) -> list[Draft]:
    return [each for each in demo.objects() if each["kind"] == kind]


def test_three_providers_have_twelve_seeds_over_six_regions() -> None:
    seeds = [msgspec.convert(each, Seed) for each in _of("Seed")]
    assert len(_of("CloudProfile")) == 3
    assert len(seeds) == 12
    assert len({seed.spec.provider.region for seed in seeds}) == 6
    multi_zonal = [seed.name for seed in seeds if len(seed.spec.provider.zones) >= 3]
    assert 1 < len(multi_zonal) < len(seeds)
    dark = [seed.name for seed in seeds if seed.metadata.annotations.get(names.SIMULATE) == DARK]
    assert dark == ["gcp-us2"]
    assert [seed.name for seed in seeds if seed.spec.taints] == ["az-eu2"]


def test_one_seed_is_full_from_the_start() -> None:
    shoots = [msgspec.convert(each, Shoot) for each in _of("Shoot")]
    full = next(row for row in demo.SEEDS if row.name == demo.FULL_SEED)
    pinned = Counter(shoot.spec.seed_name for shoot in shoots)
    assert pinned[demo.FULL_SEED] == full.capacity


def test_sixty_shoots_differ_in_provider_purpose_and_availability() -> None:
    shoots = [msgspec.convert(each, Shoot) for each in _of("Shoot")]
    assert len({shoot.key for shoot in shoots}) == len(shoots) == 60
    assert len({shoot.spec.provider.type for shoot in shoots}) == 3
    tolerances = {
        plane.high_availability.failure_tolerance.type
        for shoot in shoots
        if (plane := shoot.spec.control_plane)
        and plane.high_availability
        and plane.high_availability.failure_tolerance
    }
    assert tolerances == {"node", "zone"}


def test_projects_have_quotas_and_workloads_have_schedules() -> None:
    projects = {each["metadata"]["name"] for each in _of("Project")}
    assert len(projects) > 1
    quotas = {each["metadata"]["namespace"] for each in _of("Quota")}
    assert quotas == {f"garden-{project}" for project in projects}
    assert len(_of("ScheduledScaling")) > 1


def test_every_kind_is_known_and_every_name_unique() -> None:
    keys = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in demo.objects()
    ]
    assert all(first != second for first, second in pairwise(sorted(map(str, keys))))
    for each in demo.objects():
        assert find_kind(each["apiVersion"], each["kind"]) is not None, each["kind"]


def test_the_demo_for_gardener_has_a_set_with_an_autoscaler() -> None:
    adapted = [*gardenerdemo.adapt(demo.objects())]
    for each in adapted:
        assert find_kind(each["apiVersion"], each["kind"]) is not None, each["kind"]
    (owner,) = [each for each in adapted if each["kind"] == "ManagedSeedSet"]
    (scaler,) = [each for each in adapted if each["kind"] == "SeedAutoscaler"]
    assert owner["metadata"]["annotations"] == {names.ROLLOUT: "true"}
    assert scaler["spec"]["scaleTargetRef"]["name"] == owner["metadata"]["name"]
    assert "SecretBinding" not in {each["kind"] for each in adapted}
