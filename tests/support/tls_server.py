"""An HTTPS server in the process of the test, for webhooks that API servers call."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from webhook.dev.planes.certificates import LOOPBACK, Keyring

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def tls_server(keyring: Keyring, handler: Handler, *names: str) -> AsyncIterator[str]:
    """Serve POST requests with a certificate of the keyring, also for other host names.

    Yield the URL.
    """
    files = await asyncio.to_thread(keyring.server, "hooks", (*LOOPBACK, *names))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    await asyncio.to_thread(context.load_cert_chain, files.certificate, files.key)
    application = web.Application(client_max_size=8 * 1024 * 1024)
    application.router.add_post("/{path:.*}", handler)
    # A handler that hangs is cancelled when the API server disconnects.
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        # The API server keeps its connections open; they must be closed before the event loop is.
        for connection in runner.server.connections if runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
        await asyncio.sleep(0)
