"""`espalier serve`: runs the server against a cluster."""

import argparse
import asyncio
import logging
import signal
import sys
from typing import Final, get_origin

from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, ForbiddenError, UnauthorizedError
from webhook.nodegroups.service import GrpcListenError
from webhook.runtime import logs, memory
from webhook.runtime.tasks import root_cause
from webhook.server.listeners import ListenError
from webhook.settings import SECTIONS, Settings, load
from webhook.settingsfile import SettingsError, flag_name, variable_name
from webhook.tls.bundle import BundleError
from webhook.wiring.api_watcher import ShadowedDefinitionsError
from webhook.wiring.program import Address, Program, check_connection, connect

logger = logging.getLogger(__name__)


_STARTUP_ERRORS: Final = (
    SettingsError,
    ConfigError,
    ListenError,
    GrpcListenError,
    BundleError,
    ApiError,
    ShadowedDefinitionsError,
)
_DESCRIPTION: Final = """\
Every flag can also be set by an ESPALIER_* variable, named in brackets, or in the YAML file that
--config names, in this order of precedence. Only the file has the sections """


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare one flag for each setting that is not a section of the file."""
    parser.description = f"{_DESCRIPTION}{', '.join(SECTIONS)}."
    for name, field in Settings.model_fields.items():
        if name not in SECTIONS:
            text = f"{field.description} [{variable_name(name)}]".replace("%", "%%")
            if field.default not in (None, "", ()) and field.default_factory is None:
                text += f" (default: {_default_text(field.default)})"
            parser.add_argument(
                flag_name(name), dest=name, metavar="VALUE", help=text, action=_action(name)
            )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal arrives; 2 if the server cannot start, 1 if a bug stops it."""
    given = {
        name: ",".join(value) if isinstance(value, list) else value
        for name, value in vars(args).items()
        if name in Settings.model_fields and value is not None
    }
    try:
        settings = load(given)
        logs.configure(settings.log_format, settings.log_level)
        memory.return_large_blocks()
        _run(settings)
    except _STARTUP_ERRORS as error:
        return _fail(_message(error))
    except BaseExceptionGroup as group:
        cause = root_cause(group)
        if isinstance(cause, _STARTUP_ERRORS):
            return _fail(_message(cause))
        logger.critical("stopped by a bug", exc_info=group)
        return 1
    return 0


def _action(name: str) -> str:
    """Return the argparse action: flags of list settings can be repeated."""
    return "append" if get_origin(Settings.model_fields[name].annotation) is tuple else "store"


def _run(settings: Settings) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(settings))
    else:
        uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, stop, number, loop)

    def started(address: Address) -> None:
        about = {"port": address.port, "http_port": address.http_port}
        if address.nodegroups_port:
            about["nodegroups_port"] = address.nodegroups_port
        logger.info("listening", extra={**about, "roles": list(settings.roles)})

    async with await connect(settings) as client:
        await check_connection(client, settings)
        await Program(settings, client).run(stop, started)
    logger.info("stopped")


def _on_signal(
    stop: asyncio.Event, number: signal.Signals, loop: asyncio.AbstractEventLoop
) -> None:
    logger.info("stopping", extra={"signal": number.name})
    stop.set()
    # A second signal ends the process at once.
    loop.remove_signal_handler(number)


def _message(error: BaseException) -> str:
    if isinstance(error, SettingsError):
        return "\n  ".join(str(error).splitlines())
    text = " ".join(str(error).split())
    if isinstance(error, ListenError | GrpcListenError):
        return f"{text}; free it or choose another: --port, --http-port or --nodegroups-port"
    if isinstance(error, BundleError):
        return f"{text}; fix the file, or omit the flag that names it"
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return (
            f"the API server denies access: {text}; check the permissions of the kubeconfig's user"
        )
    if isinstance(error, ApiError):
        return f"the API server cannot be used: {text}; check --kubeconfig and --context"
    return text


def _fail(message: str) -> int:
    print(f"espalier serve: {message}", file=sys.stderr)
    return 2


def _default_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
