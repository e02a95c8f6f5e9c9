"""The SSLContext of a listener, whose certificate is exchanged while it serves."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.tls.authority import KeyPair
from webhook.tls.bundle import BundleError


class ServingContext:
    """Gives every new connection the newest pair; open ones go on with theirs.

    A pair is loaded into a context of its own first, and that context is put to use only once
    it is whole: loading a mismatched pair into a context that serves would break it for good.
    """

    def __init__(self, pair: KeyPair, client_authorities: bytes = b"") -> None:
        self._client_authorities = client_authorities
        self._current = self.build(pair)
        self.pair = pair
        self.context = self.build(pair)
        """What the listener is started with; it stays the same for its whole life."""
        self.context.sni_callback = self._choose

    def build(self, pair: KeyPair) -> ssl.SSLContext:
        """Make a fresh context; raises BundleError unless the pair is whole. Reads files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self._client_authorities:
            # Who comes without a certificate is let in here and judged at the door of each path.
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(cadata=self._client_authorities.decode("ascii"))
        try:
            with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
                context.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise BundleError(f"the pair cannot be served: {error}") from error
        return context

    def swap(self, pair: KeyPair, context: ssl.SSLContext) -> None:
        """Serve a pair from now on, in a context that `build` made of it."""
        self._current = context
        self.pair = pair

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._current


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Show bytes as a file, in memory where the system can: keys had better not touch a disk."""
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
