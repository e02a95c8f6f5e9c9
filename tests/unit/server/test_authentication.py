import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import aiohttp
import pytest

from tests.unit.server.conftest import Bench, Client, review
from tests.unit.server.test_grants import FakeGranter, wanting
from webhook.server.listeners import listening
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import merge_certificates
from webhook.tls.serving import ServingContext, as_file

Connect = Callable[[Bench], Awaitable[Client]]

NOW = datetime.now(UTC)
SERVER = Authority.create("server", NOW)
API = Authority.create("api", NOW)
PEOPLE = Authority.create("people", NOW)


def client_context(pair: KeyPair | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=SERVER.certificate.decode())
    if pair is not None:
        with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
            context.load_cert_chain(certificate, key)
    return context


async def post(bench: Bench, pair: KeyPair | None, path: str) -> int:
    """Post a review over TLS and return the status."""
    serving = ServingContext(
        SERVER.sign_server(["localhost"], NOW),
        merge_certificates(API.certificate, PEOPLE.certificate),
    )
    connector = aiohttp.TCPConnector(ssl=client_context(pair))
    async with (
        listening(bench.app(), "127.0.0.1", 0, serving.context) as port,
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://localhost:{port}{path}", json=review()) as response,
    ):
        return response.status


CERTIFICATES = [
    pytest.param(API.sign_client("api-server", NOW), 200, id="of the right authority"),
    pytest.param(API.sign_client("alice", NOW), 401, id="of the right authority, another name"),
    pytest.param(PEOPLE.sign_client("api-server", NOW), 401, id="of an authority for other paths"),
    pytest.param(None, 401, id="none"),
]


@pytest.mark.parametrize("fast_path", [True, False])
@pytest.mark.parametrize(("pair", "status"), CERTIFICATES)
async def test_with_an_admission_ca_reviews_require_its_client_certificates(
    bench: Bench, pair: KeyPair | None, status: int, fast_path: bool
) -> None:
    bench.authorities, bench.names = API.certificate, frozenset({"api-server"})
    bench.fast_path = fast_path
    assert await post(bench, pair, "/validate") == status


async def test_without_names_any_certificate_of_the_admission_ca_counts(bench: Bench) -> None:
    bench.authorities = API.certificate
    assert await post(bench, API.sign_client("any", NOW), "/validate") == 200


@pytest.mark.parametrize(("pair", "status"), CERTIFICATES)
async def test_with_an_admission_ca_permits_are_taken_only_for_its_clients(
    bench: Bench, pair: KeyPair | None, status: int
) -> None:
    bench.authorities, bench.names = API.certificate, frozenset({"api-server"})
    bench.policies, granter = (wanting(3),), FakeGranter(3)
    bench.granter = granter
    assert await post(bench, pair, "/mutate") == status
    assert granter.asked == ([(3, False)] if status == 200 else [])
