"""`espalier serve`: the server against a real cluster."""

import argparse
import asyncio
import logging
import signal
import sys
from dataclasses import is_dataclass
from typing import Final, get_origin

from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, ForbiddenError, UnauthorizedError
from webhook.runtime import logs
from webhook.runtime.manager import root_cause
from webhook.server.listeners import ListenError
from webhook.settings import Settings, flag, load, variable
from webhook.settingsfile import SettingsError
from webhook.tls.bundle import BundleError
from webhook.wiring.landscape import CoveredError
from webhook.wiring.program import Address, Program, connect, greet

logger = logging.getLogger(__name__)

NAME: Final = "serve"
HELP: Final = "run webhooks, extender and controllers against a cluster"

_HOPELESS: Final = (SettingsError, ConfigError, ListenError, BundleError, ApiError, CoveredError)
_SECTIONS: Final = [
    name for name, field in Settings.model_fields.items() if is_dataclass(field.annotation)
]
_DESCRIPTION: Final = """\
Every flag can also be set by an ESPALIER_* variable, named in brackets, or in the YAML file that
--config names, in this order of precedence. The file alone has the sections """


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare one flag for each setting that is not a section of the file."""
    parser.description = f"{_DESCRIPTION}{', '.join(_SECTIONS)}."
    for name, field in Settings.model_fields.items():
        if name not in _SECTIONS:
            text = f"{field.description} [{variable(name)}]".replace("%", "%%")
            if field.default not in (None, "", ()) and field.default_factory is None:
                text += f" (default: {_shown(field.default)})"
            parser.add_argument(
                flag(name), dest=name, metavar="VALUE", help=text, action=_action(name)
            )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes; 2 if that cannot even begin."""
    given = {
        name: ",".join(value) if isinstance(value, list) else value
        for name, value in vars(args).items()
        if name in Settings.model_fields and value is not None
    }
    try:
        settings = load(given)
        logs.configure(settings.log_format, settings.log_level)
        _run(settings)
    except _HOPELESS as error:
        return _fail(_explain(error))
    except BaseExceptionGroup as group:
        cause = root_cause(group)
        if isinstance(cause, ConfigError | ListenError | BundleError | ApiError):
            return _fail(_explain(cause))
        logger.critical("stopped by a bug", exc_info=group)
        return 1
    return 0


def _action(name: str) -> str:
    """Let flags be repeated whose setting is a list; elsewhere the last one counts."""
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
        await greet(client, settings)
        await Program(settings, client).run(stop, started)
    logger.info("stopped")


def _on_signal(
    stop: asyncio.Event, number: signal.Signals, loop: asyncio.AbstractEventLoop
) -> None:
    logger.info("stopping", extra={"signal": number.name})
    stop.set()
    # Whoever asks twice is in a hurry.
    loop.remove_signal_handler(number)


def _explain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, ListenError):
        return f"{text}; free it or choose others with --port and --http-port"
    if isinstance(error, BundleError):
        return f"{text}; mend it, or leave the flag that names it out"
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return f"the API server refuses us: {text}; check the rights of the kubeconfig's user"
    if isinstance(error, ApiError):
        return f"the API server cannot be used: {text}; check --kubeconfig and --context"
    return text


def _fail(message: str) -> int:
    print(f"espalier serve: {message}", file=sys.stderr)
    return 2


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
