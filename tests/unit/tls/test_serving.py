import asyncio
import ssl
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from webhook.tls.authority import Authority, KeyPair
from webhook.tls.serving import ServingContext, as_file

NOW = datetime.now(UTC)
AUTHORITY = Authority.create("test", NOW)
CLIENTS = Authority.create("clients", NOW)
FIRST = AUTHORITY.sign_server(["localhost", "127.0.0.1"], NOW)
SECOND = AUTHORITY.sign_server(["localhost", "127.0.0.1"], NOW)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.close()


def client_context() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=AUTHORITY.certificate.decode())


def presented(writer: asyncio.StreamWriter) -> bytes:
    connection = writer.get_extra_info("ssl_object")
    der = connection.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"], ids=["with SNI", "without SNI"])
async def test_new_connections_get_the_new_pair_and_open_ones_keep_theirs(name: str) -> None:
    serving = ServingContext(FIRST)
    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=serving.context)
    port = server.sockets[0].getsockname()[1]

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context(), server_hostname=name
        )

    async with server:
        reader, writer = await connect()
        assert presented(writer) == FIRST.certificate
        serving.swap(SECOND, serving.build(SECOND))
        new_reader, new_writer = await connect()
        assert presented(new_writer) == SECOND.certificate
        for connection, lines in ((writer, reader), (new_writer, new_reader)):
            connection.write(b"still here\n")
            assert await lines.readline() == b"still here\n"
            connection.close()
            await connection.wait_closed()


@pytest.mark.parametrize("swapped", [False, True], ids=["at first", "after a swap"])
@pytest.mark.parametrize(
    ("pair", "welcome"),
    [
        pytest.param(CLIENTS.sign_client("alice", NOW), True, id="a client of the authority"),
        pytest.param(None, True, id="no certificate"),
        pytest.param(AUTHORITY.sign_client("mallory", NOW), False, id="one of another authority"),
    ],
)
async def test_client_certificates_are_verified_if_presented(
    pair: KeyPair | None, welcome: bool, swapped: bool
) -> None:
    serving = ServingContext(FIRST, CLIENTS.certificate)
    if swapped:
        serving.swap(SECOND, serving.build(SECOND))
    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=serving.context)
    context = client_context()
    if pair is not None:
        with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
            context.load_cert_chain(certificate, key)
    async with server:
        port = server.sockets[0].getsockname()[1]
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=context, server_hostname="localhost"
            )
            writer.write(b"hello\n")
            answer = await reader.readline()
            writer.close()
        except (ssl.SSLError, ConnectionError):
            answer = b""
    assert (answer == b"hello\n") is welcome
