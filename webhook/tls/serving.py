"""The SSLContext of a listener, whose certificate can be replaced while it serves."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.tls.authority import KeyPair
from webhook.tls.bundle import BundleError


class ServingContext:
    """Gives every new connection the current key pair; open connections keep theirs.

    A new pair is loaded into a new context, which is used only after that succeeded: loading a
    mismatched pair into the context of the listener would break it for good.
    """

    def __init__(self, pair: KeyPair, client_authorities: bytes = b"") -> None:
        self._client_authorities = client_authorities
        self._current = self.build(pair)
        self.pair = pair
        self.context = self.build(pair)
        """The context that the listener is started with; it never changes."""
        self.context.sni_callback = self._select_context

    def build(self, pair: KeyPair) -> ssl.SSLContext:
        """Create a context; raises BundleError unless key and certificate match. Reads files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self._client_authorities:
            # Clients without a certificate may connect; the handlers of each path decide.
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(cadata=self._client_authorities.decode("ascii"))
        try:
            with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
                context.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise BundleError(f"the key pair cannot be served: {error}") from error
        return context

    def swap(self, pair: KeyPair, context: ssl.SSLContext) -> None:
        """Serve a key pair from now on, with the context that `build` created for it."""
        self._current = context
        self.pair = pair

    def _select_context(
        self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext
    ) -> None:
        # Also called for clients that send no server name.
        connection.context = self._current


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Provide bytes as a file, in memory if possible, so that keys are not written to a disk."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("pem")
        path = f"/proc/self/fd/{handle}"
        try:
            os.write(handle, content)
            yield path
        finally:
            os.close(handle)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
