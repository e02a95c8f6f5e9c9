"""Address and credentials of the API server: kubeconfig, exec plugin or service account.

kubernetes_asyncio loads configuration and credentials and nothing else: its watch resumes expired
versions, takes the page of a proxy for an event, and never waits between attempts.
"""

import asyncio
import os
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import yaml
from typing_extensions import override

# Projected tokens and mounted certificates change on disk, and reading them is cheap.
REFRESH_SECONDS: Final = 60.0

_SERVICE_HOST: Final = "KUBERNETES_SERVICE_HOST"
_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REMEDY: Final = "name a working kubeconfig with --kubeconfig or KUBECONFIG"


class ConfigError(Exception):
    """No usable configuration of an API server; the message contains the remedy."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The headers and the TLS context of a connection."""

    headers: Mapping[str, str]
    context: ssl.SSLContext | None
    """None for plain HTTP; the same object as long as the certificates do not change."""


class ConfigSource(Protocol):
    """Fills a Configuration of kubernetes_asyncio."""

    @property
    def namespace(self) -> str: ...

    async def load(self, *, anew: bool) -> Any:
        """Load the configuration; `anew` after the server refused the previous one."""


class Access:
    """The address of one API server and its credentials, which are refreshed."""

    def __init__(self, source: ConfigSource) -> None:
        self._source = source
        self._lock = asyncio.Lock()
        self._credentials: Credentials | None = None
        self._read_at = 0.0
        self._files: tuple[object, ...] = ()
        self.host = ""
        self.proxy: str | None = None
        self.server_name: str | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the pod or of the kubeconfig context; may be empty."""
        return self._source.namespace

    async def credentials(self) -> Credentials:
        """Return the credentials; they are read again after a minute."""
        cached = self._credentials
        if cached and asyncio.get_running_loop().time() - self._read_at < REFRESH_SECONDS:
            return cached
        async with self._lock:
            if self._credentials and self._credentials is not cached:
                return self._credentials  # another task has just read them
            return await self._read(anew=False)

    async def renew(self, refused: Credentials) -> Credentials:
        """Replace credentials that the server refused."""
        async with self._lock:
            if self._credentials and self._credentials is not refused:
                return self._credentials
            return await self._read(anew=True)

    async def _read(self, *, anew: bool) -> Credentials:
        # The import loads all models of Kubernetes and would block the event loop for a second.
        await asyncio.to_thread(import_module, "kubernetes_asyncio.config")
        with _as_config_error(self._source):
            configuration = await self._source.load(anew=anew)
            return await self._use(configuration)

    async def _use(self, configuration: Any) -> Credentials:
        self.host = str(configuration.host).rstrip("/")
        self.server_name = configuration.tls_server_name or None
        self.proxy = configuration.proxy or _environment_proxy(self.host)
        token = configuration.api_key.get("BearerToken", "").strip()
        headers = {"Authorization": token} if token else {}
        context = await asyncio.to_thread(self._context, configuration)
        self._credentials = Credentials(headers, context)
        self._read_at = asyncio.get_running_loop().time()
        return self._credentials

    def _context(self, configuration: Any) -> ssl.SSLContext | None:
        if not self.host.startswith("https"):
            return None
        paths = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        files = (configuration.verify_ssl, *(_content(path) for path in paths))
        if self._credentials is not None and files == self._files:
            return self._credentials.context  # so that open connections are reused
        context = _build_context(configuration)
        self._files = files
        return context


class Kubeconfig:
    """One or several kubeconfig files with tokens, certificates or exec plugins."""

    def __init__(self, path: str, context: str | None = None) -> None:
        self._path = path
        self._context = context
        self._loader: Any = None
        self._loaded: Any = None
        self.namespace = ""

    @override
    def __str__(self) -> str:
        return f"kubeconfig {self._path}"

    async def load(self, *, anew: bool) -> Any:
        # Imported late, because most commands need no API server.
        from kubernetes_asyncio import client, config

        if self._loader is not None and not anew:
            return await self._reload(client.Configuration())
        await asyncio.to_thread(_require_file, self._path)
        configuration = client.Configuration()
        self._loader = await config.load_kube_config(
            self._path, self._context, configuration, persist_config=False
        )
        self.namespace = self._loader.current_context["context"].get("namespace", "")
        self._loaded = configuration
        return configuration

    async def _reload(self, configuration: Any) -> Any:
        # A certificate or token of a plugin without an expiry is used until the server refuses it.
        if self._runs_plugin and not hasattr(self._loader, "exec_plugin_expiry"):
            return self._loaded
        await self._loader.load_and_set(configuration)
        self._loaded = configuration
        return configuration

    @property
    def _runs_plugin(self) -> bool:
        user = self._loader._user  # the loader has no public attribute for it
        return user is not None and "exec" in user


class InClusterConfig:
    """The service account that Kubernetes mounts into a pod."""

    def __init__(self) -> None:
        self.namespace = ""

    @override
    def __str__(self) -> str:
        return "the pod's service account"

    async def load(self, *, anew: bool) -> Any:
        del anew  # the files are read on every call
        return await asyncio.to_thread(self._load)

    def _load(self) -> Any:
        from kubernetes_asyncio import client, config

        configuration = client.Configuration()
        load_in_cluster: Any = config.load_incluster_config
        load_in_cluster(configuration, try_refresh_token=False)
        if _NAMESPACE_FILE.is_file():
            self.namespace = _NAMESPACE_FILE.read_text().strip()
        return configuration


def is_configured(kubeconfig: str | None = None) -> bool:
    """Return whether a flag, the environment or a file names an API server, usable or not."""
    named = kubeconfig or os.environ.get("KUBECONFIG") or os.environ.get(_SERVICE_HOST)
    return bool(named) or _default_path().exists()


async def load(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """Load the given kubeconfig, else KUBECONFIG, else the service account, else ~/.kube/config."""
    chosen = kubeconfig or os.environ.get("KUBECONFIG")
    source: ConfigSource
    if not chosen and os.environ.get(_SERVICE_HOST):
        source = InClusterConfig()
    else:
        source = Kubeconfig(chosen or str(_default_path()), context)
    access = Access(source)
    await access.credentials()
    return access


def _default_path() -> Path:
    return Path.home() / ".kube" / "config"


@contextmanager
def _as_config_error(source: ConfigSource) -> Iterator[None]:
    from kubernetes_asyncio.config import ConfigException

    try:
        yield
    except (
        *(OSError, ValueError, LookupError, AttributeError, TypeError, AssertionError),
        *(yaml.YAMLError, ConfigException),
    ) as error:
        # The loader raises all of these for broken files.
        why = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{source} does not work: {why}; {_REMEDY}") from error


def _build_context(configuration: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # CA certificates of real clusters lack extensions that Python 3.13 and newer require.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _require_file(paths: str) -> None:
    # The loader only warns about a missing file and fails later.
    if not any(Path(path).expanduser().exists() for path in paths.split(os.pathsep)):
        raise FileNotFoundError("no such file")


def _content(path: str | None) -> bytes:
    return Path(path).read_bytes() if path else b""


def _environment_proxy(host: str) -> str | None:
    """Return the proxy of the environment variables, like kubectl."""
    address = urlsplit(host)
    if not address.hostname or urllib.request.proxy_bypass(address.hostname):
        return None
    return urllib.request.getproxies().get(address.scheme)
