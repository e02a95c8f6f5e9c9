"""Certificates that change under load, without a failed call."""

import asyncio
import os
import ssl
from dataclasses import replace
from functools import partial
from uuid import uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.review_load import ReviewLoad
from tests.support.server_processes import Replica, running
from tests.support.waits import eventually
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.controllers.installation.certificates import CertificateStore
from webhook.kube.clock import SystemClock
from webhook.kube.meta import ObjectKey
from webhook.tls.authority import KeyPair
from webhook.tls.material import CertificateProfile

ROTATIONS = 1000 if os.environ.get("ESPALIER_SOAK") else 100
TORN = range(10, ROTATIONS, 25)
NAMES = ("localhost", "127.0.0.1")

pytestmark = pytest.mark.timeout(0 if os.environ.get("ESPALIER_SOAK") else 400)


async def presented(port: int, context: ssl.SSLContext) -> bytes:
    """Return the certificate of a new connection."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)


async def is_served(replica: Replica, context: ssl.SSLContext, pair: KeyPair) -> bool:
    return await presented(replica.port, context) == pair.certificate


async def test_a_hundred_rotations_under_load_with_torn_pairs_among_them(embedded_server, tmp_path):
    namespace = f"rotate-{uuid4().hex[:8]}"
    flags = ("--namespace", namespace, "--roles", "admission", "--drain-quiet", "0")
    names = ("--certificate-names", ",".join(NAMES))
    replica = Replica("server", tmp_path, embedded_server.kubeconfig, *flags, *names)
    async with running(replica), Client(await config.load(str(embedded_server.kubeconfig))) as api:
        await replica.until_ready()
        profile = CertificateProfile(NAMES)
        store = CertificateStore(api, ObjectKey(namespace, "espalier-tls"), profile, SystemClock())
        material, _ = await store.read()
        context = ssl.create_default_context(cadata=material.trusted.decode())
        callers = ReviewLoad(
            lambda: f"https://localhost:{replica.port}/validate?timeout=30s", context
        )
        calling = asyncio.create_task(callers.run(reusing=2, connecting=2, pause=0.005))
        served = material.leaf
        for turn in range(ROTATIONS):
            material, secret = await store.read()
            renewed = material.with_leaf(profile, SystemClock().now())
            if turn in TORN:
                torn = KeyPair(renewed.leaf.certificate, served.key)
                await store.write(replace(renewed, leaf=torn), secret)
                await asyncio.sleep(0.1)
                assert await is_served(replica, context, served)
                continue
            await store.write(renewed, secret)
            served = renewed.leaf
            await eventually(partial(is_served, replica, context, served))
        callers.stop()
        await calling
        assert callers.failures == []
        assert callers.answered > ROTATIONS
        assert await replica.end() == 0
