"""Memory: what the random runs of its model do not show."""

from decimal import Decimal

from tests.unit.state.test_memory_model import WEIGHTS
from tests.unit.state.test_store import make_shoot
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.meta import Metadata
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain.options import Options
from webhook.state.memory import Memory
from webhook.state.store import Entry
from webhook.state.totals import Reader, Total, Vector


def by_namespace_option(shoot: Shoot, reader: Reader) -> Vector:
    return {reader.options.namespace: Decimal(1)}


PER_OPTION: Total[Shoot] = Total("per_option", Shoot, lambda _: ("all",), by_namespace_option)


def test_other_options_sum_everything_up_anew() -> None:
    memory = Memory([Shoot], (), (PER_OPTION,), options=Options(namespace="first"))
    memory.observe(Shoot, make_shoot().key, Entry(make_shoot()), "1")
    assert memory.total(PER_OPTION, "all") == {"first": Decimal(1)}
    memory.configure(Options(namespace="second"))
    assert memory.total(PER_OPTION, "all") == {"second": Decimal(1)}
    memory.observe(Shoot, make_shoot().key, None, "2")
    assert memory.total(PER_OPTION, "all") == {}


def test_a_list_that_began_with_other_options_is_summed_up_anew() -> None:
    memory = Memory([Shoot], (), (PER_OPTION,), options=Options(namespace="first"))
    staged = memory.stage(Shoot)
    staged.put(make_shoot().key, make_shoot())
    memory.configure(Options(namespace="second"))
    memory.adopt(staged, "3")
    assert memory.total(PER_OPTION, "all") == {"second": Decimal(1)}


def test_sums_are_brought_up_to_date_one_part_at_a_time() -> None:
    memory = Memory([Shoot, CloudProfile], (), (WEIGHTS,))
    for name in ("a", "b", "c"):
        shoot = Shoot(
            metadata=Metadata(namespace="garden", name=name),
            spec=ShootSpec(cloud_profile_name="small", purpose="test"),
        )
        memory.observe(Shoot, shoot.key, Entry(shoot), "1")
    assert not memory.refresh_one()
    profile = CloudProfile(metadata=Metadata(name="small", labels={"weight": "5"}))
    memory.observe(CloudProfile, profile.key, Entry(profile), "2")
    assert [memory.refresh_one() for _ in range(4)] == [True, True, True, False]
    assert memory.total(WEIGHTS, "test") == {"weight": Decimal(15), "shoots": Decimal(3)}
