import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import aiohttp
import pytest

from tests.unit.server.conftest import Bench, Client, review
from webhook.server.listeners import listening
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import join
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


@pytest.mark.parametrize(
    ("pair", "status"),
    [
        pytest.param(API.sign_client("api-server", NOW), 200, id="of the right authority"),
        pytest.param(PEOPLE.sign_client("alice", NOW), 401, id="of an authority for other paths"),
        pytest.param(None, 401, id="none"),
    ],
)
async def test_where_an_authority_is_named_reviews_need_its_certificates(
    bench: Bench, pair: KeyPair | None, status: int
) -> None:
    bench.authorities = API.certificate
    serving = ServingContext(
        SERVER.sign_server(["localhost"], NOW), join(API.certificate, PEOPLE.certificate)
    )
    connector = aiohttp.TCPConnector(ssl=client_context(pair))
    async with (
        listening(bench.app(), "127.0.0.1", 0, serving.context) as port,
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://localhost:{port}/validate", json=review()) as response,
    ):
        assert response.status == status
