"""ClusterState: options and refreshed sums, which its model test does not cover."""

from decimal import Decimal

from tests.unit.state.test_cluster_state_model import WEIGHTS
from tests.unit.state.test_store import make_shoot
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain.options import Options
from webhook.kube.meta import Metadata
from webhook.state.cluster_state import ClusterState
from webhook.state.store import StoreEntry
from webhook.state.totals import Reader, Total, Vector


def by_namespace_option(shoot: Shoot, reader: Reader) -> Vector:
    return {reader.options.namespace: Decimal(1)}


PER_OPTION: Total[Shoot] = Total("per_option", Shoot, lambda _: ("all",), by_namespace_option)


def test_new_options_recompute_every_sum() -> None:
    state = ClusterState([Shoot], (), (PER_OPTION,), options=Options(namespace="first"))
    state.observe(Shoot, make_shoot().key, StoreEntry(make_shoot()), "1")
    assert state.total(PER_OPTION, "all") == {"first": Decimal(1)}
    state.configure(Options(namespace="second"))
    assert state.total(PER_OPTION, "all") == {"second": Decimal(1)}
    state.observe(Shoot, make_shoot().key, None, "2")
    assert state.total(PER_OPTION, "all") == {}


def test_a_list_that_began_with_other_options_is_recomputed() -> None:
    state = ClusterState([Shoot], (), (PER_OPTION,), options=Options(namespace="first"))
    staged = state.new_store(Shoot)
    staged.put(make_shoot().key, make_shoot())
    state.configure(Options(namespace="second"))
    state.replace_store(staged, "3")
    assert state.total(PER_OPTION, "all") == {"second": Decimal(1)}


def test_outdated_contributions_are_recomputed_one_at_a_time() -> None:
    state = ClusterState([Shoot, CloudProfile], (), (WEIGHTS,))
    for name in ("a", "b", "c"):
        shoot = Shoot(
            metadata=Metadata(namespace="garden", name=name),
            spec=ShootSpec(cloud_profile_name="small", purpose="test"),
        )
        state.observe(Shoot, shoot.key, StoreEntry(shoot), "1")
    assert not state.refresh_one()
    profile = CloudProfile(metadata=Metadata(name="small", labels={"weight": "5"}))
    state.observe(CloudProfile, profile.key, StoreEntry(profile), "2")
    assert [state.refresh_one() for _ in range(4)] == [True, True, True, False]
    assert state.total(WEIGHTS, "test") == {"weight": Decimal(15), "shoots": Decimal(3)}
