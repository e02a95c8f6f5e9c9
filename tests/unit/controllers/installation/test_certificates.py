import asyncio
from datetime import timedelta

import pytest

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.controllers.installation.certificates import (
    CertificateRenewer,
    CertificateStore,
    decode,
)
from webhook.kube.meta import ObjectKey
from webhook.tls.bundle import (
    BundleError,
    is_issued_by,
    merge_certificates,
    parse_certificates,
    validate_bundle,
)
from webhook.tls.material import CertificateProfile, Material
from webhook.tls.rotation import TRUST_SECONDS, Rotation
from webhook.tls.serving import ServingContext

KEY = ObjectKey("garden", "espalier-tls")
SECRET = kind_of_model(Secret)
DAY = timedelta(days=1)
PROFILE = CertificateProfile(("localhost",), leaf_lifetime=30 * DAY, authority_lifetime=300 * DAY)


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.api = FakeCluster(self.clock)
        self.store = CertificateStore(self.api, KEY, PROFILE, self.clock)

    async def renewer(self) -> tuple[CertificateRenewer, Rotation]:
        material = await self.store.obtain()
        rotation = Rotation(ServingContext(material.leaf))
        return CertificateRenewer(self.store, rotation, self.clock), rotation

    async def material(self) -> Material:
        return (await self.store.read())[0]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_material_is_created_once_and_the_first_writer_wins(bench: Bench) -> None:
    other = CertificateStore(bench.api, KEY, PROFILE, bench.clock)
    one, two = await asyncio.gather(bench.store.obtain(), other.obtain())
    assert one == two == await bench.material()
    assert {call.verb for call in bench.api.calls} == {"create"}
    assert len(bench.api.server.events) == 1
    secret = bench.api.objects[Secret, KEY]
    assert secret["type"] == "kubernetes.io/tls"
    validate_bundle(decode(secret).bundle, bench.clock.now())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="empty"),
        pytest.param({"tls.crt": "!"}, id="not base64"),
        pytest.param({"tls.crt": "YQ==", "tls.key": "YQ=="}, id="foreign"),
    ],
)
async def test_an_invalid_secret_is_refused(bench: Bench, data: dict[str, str]) -> None:
    bench.api.server.create(Secret, KEY, {"data": data})
    with pytest.raises(BundleError):
        await bench.store.obtain()


async def test_the_leaf_is_renewed_in_time(bench: Bench) -> None:
    renewer, _ = await bench.renewer()
    before = await bench.material()
    bench.clock.pass_time(19 * 86400)
    await renewer.renew_if_due()
    assert await bench.material() == before
    bench.clock.pass_time(1.1 * 86400)
    await renewer.renew_if_due()
    after = await bench.material()
    assert after.leaf != before.leaf
    assert after.authority == before.authority


async def test_a_new_ca_signs_only_after_it_was_published_for_a_minute(bench: Bench) -> None:
    renewer, rotation = await bench.renewer()
    old = await bench.material()
    rotation.publish([old.trusted], 0)
    secret = bench.api.objects[Secret, KEY]
    await bench.store.write(old.with_successor(PROFILE, bench.clock.now()), secret)
    begun = await bench.material()
    assert begun.successor is not None

    await renewer.renew_if_due()
    bench.clock.pass_time(1_000)
    await renewer.renew_if_due()
    assert await bench.material() == begun, "not published yet"

    rotation.publish([begun.trusted], bench.clock.monotonic())
    await renewer.renew_if_due()
    bench.clock.pass_time(TRUST_SECONDS - 1)
    await renewer.renew_if_due()
    assert await bench.material() == begun, "not for long enough"

    bench.clock.pass_time(1)
    await renewer.renew_if_due()
    done = await bench.material()
    assert done.authority == begun.successor
    assert is_issued_by(done.leaf.certificate, begun.successor.certificate)
    assert parse_certificates(done.trusted) == parse_certificates(
        merge_certificates(old.trusted, begun.successor.certificate)
    )


async def test_a_deleted_secret_is_created_again(bench: Bench) -> None:
    renewer, _ = await bench.renewer()
    bench.api.objects.clear()
    await renewer.renew_if_due()
    validate_bundle((await bench.material()).bundle, bench.clock.now())
