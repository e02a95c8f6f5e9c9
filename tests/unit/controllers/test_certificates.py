import asyncio
from datetime import timedelta

import pytest

from tests.clocks import FakeClock
from tests.unit.controllers.api import FakeApi
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.controllers.certificates import Keeper, Store, decode
from webhook.tls.bundle import BundleError, check, is_vouched_for, join, split
from webhook.tls.material import Material, Profile
from webhook.tls.rotation import TRUST_SECONDS, Rotation
from webhook.tls.serving import ServingContext

KEY = ObjectKey("garden", "espalier-tls")
SECRET = kind_of_model(Secret)
DAY = timedelta(days=1)
PROFILE = Profile(("localhost",), leaf_lifetime=30 * DAY, authority_lifetime=300 * DAY)


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.api = FakeApi()
        self.store = Store(self.api, KEY, PROFILE, self.clock)

    async def keeper(self) -> tuple[Keeper, Rotation]:
        material = await self.store.obtain()
        rotation = Rotation(ServingContext(material.leaf))
        return Keeper(self.store, rotation, self.clock), rotation

    async def material(self) -> Material:
        return (await self.store.read())[0]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_material_is_made_once_and_the_first_writer_wins(bench: Bench) -> None:
    other = Store(bench.api, KEY, PROFILE, bench.clock)
    one, two = await asyncio.gather(bench.store.obtain(), other.obtain())
    assert one == two == await bench.material()
    assert bench.api.writes == ["create Secret"]
    secret = bench.api.objects["Secret", KEY]
    assert secret["type"] == "kubernetes.io/tls"
    check(decode(secret).bundle, bench.clock.now())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="empty"),
        pytest.param({"tls.crt": "!"}, id="not base64"),
        pytest.param({"tls.crt": "YQ==", "tls.key": "YQ=="}, id="foreign"),
    ],
)
async def test_a_secret_that_is_not_ours_is_refused(bench: Bench, data: dict[str, str]) -> None:
    bench.api.put(SECRET, KEY, {"data": data})
    with pytest.raises(BundleError):
        await bench.store.obtain()


async def test_the_leaf_is_renewed_in_time(bench: Bench) -> None:
    keeper, _ = await bench.keeper()
    before = await bench.material()
    bench.clock.pass_time(19 * 86400)
    await keeper.look()
    assert await bench.material() == before
    bench.clock.pass_time(1.1 * 86400)
    await keeper.look()
    after = await bench.material()
    assert after.leaf != before.leaf
    assert after.authority == before.authority


async def test_an_authority_signs_only_after_it_was_published_for_a_minute(bench: Bench) -> None:
    keeper, rotation = await bench.keeper()
    old = await bench.material()
    rotation.publish([old.trusted], 0)
    secret = bench.api.objects["Secret", KEY]
    await bench.store.write(old.with_successor(PROFILE, bench.clock.now()), secret)
    begun = await bench.material()
    assert begun.successor is not None

    await keeper.look()
    bench.clock.pass_time(1_000)
    await keeper.look()
    assert await bench.material() == begun, "not published yet"

    rotation.publish([begun.trusted], bench.clock.monotonic())
    await keeper.look()
    bench.clock.pass_time(TRUST_SECONDS - 1)
    await keeper.look()
    assert await bench.material() == begun, "not for long enough"

    bench.clock.pass_time(1)
    await keeper.look()
    done = await bench.material()
    assert done.authority == begun.successor
    assert is_vouched_for(done.leaf.certificate, begun.successor.certificate)
    assert split(done.trusted) == split(join(old.trusted, begun.successor.certificate))


async def test_a_deleted_secret_is_made_again(bench: Bench) -> None:
    keeper, _ = await bench.keeper()
    bench.api.objects.clear()
    await keeper.look()
    check((await bench.material()).bundle, bench.clock.now())
