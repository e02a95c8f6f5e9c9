"""`kubectl espalier rollout status|history|undo|pause|resume mss/NAME`."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
import yaml
from rich.console import Console
from rich.live import Live
from rich.syntax import Syntax
from rich.table import Table

from webhook.api import conditions, names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.cli.rollout import differences, progress
from webhook.cli.rollout.sets import Sets
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, ConflictError, NotFoundError
from webhook.domain import rollout, threeway

NAME: Final = "rollout"
HELP: Final = "follow, pause and take back rolling updates of sets of seeds"

_KINDS: Final = ("mss", "managedseedset", "managedseedsets")
_POLL_SECONDS: Final = 1.0
_ATTEMPTS: Final = 5
_WIDE: Final = 1000

Action: TypeAlias = Callable[[argparse.Namespace, Sets, Console], Awaitable[int]]


class UsageError(Exception):
    """A command line that makes no sense; the message says what would."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="follow a rollout until it is complete")
    history = actions.add_parser("history", help="list revisions and what they changed")
    undo = actions.add_parser("undo", help="go back to an earlier revision")
    pause = actions.add_parser("pause", help="hold updates back")
    resume = actions.add_parser("resume", help="let updates go on")
    for each in (status, history, undo, pause, resume):
        each.add_argument("target", metavar="mss/NAME", help="the set, as mss/NAME")
        each.add_argument("-n", "--namespace", default="", help="its namespace")
        each.add_argument("--kubeconfig", help="the kubeconfig file to use")
        each.add_argument("--context", help="the context of the kubeconfig to use")
    status.add_argument(
        "-w",
        "--watch",
        choices=("true", "false"),
        nargs="?",
        const="true",
        default="true",
        help="whether to wait until the rollout is complete (default true)",
    )
    status.add_argument("--timeout", type=float, default=0, help="seconds to wait; 0: for ever")
    history.add_argument("--revision", type=int, help="show this revision and its difference")
    undo.add_argument("--to-revision", type=int, default=0, help="0: the one before (default)")
    undo.add_argument(
        "--keep-versions",
        action="store_true",
        help="undo all but Kubernetes versions, which cannot go down",
    )
    undo.add_argument("--dry-run", action="store_true", help="only show what would change")


def run(args: argparse.Namespace) -> int:
    """Do what was asked; 1 if it failed, 2 if it could not be tried."""
    # Programs get whole lines, people what fits their terminal.
    width = None if sys.stdout.isatty() else _WIDE
    console = Console(highlight=False, width=width)
    try:
        return asyncio.run(_run(args, console))
    except UsageError as error:
        return _fail(str(error), 2)
    except ConfigError as error:
        return _fail(str(error), 2)
    except NotFoundError as error:
        return _fail(error.message, 1)
    except ApiError as error:
        return _fail(f"the API server says: {error.message}", 1)


async def _run(args: argparse.Namespace, console: Console) -> int:
    name = _name(args.target)
    access = await config.load(args.kubeconfig, args.context)
    key = ObjectKey(args.namespace or access.namespace or "default", name)
    async with Client(access) as client:
        return await _ACTIONS[args.action](args, Sets(client, key), console)


def _name(target: str) -> str:
    kind, slash, name = target.partition("/")
    if not slash:
        kind, name = _KINDS[0], target
    if kind.partition(".")[0].lower() not in _KINDS or not name:
        raise UsageError(f"{target!r} is no set of seeds, write it like mss/NAME")
    return name


async def _status(args: argparse.Namespace, sets: Sets, console: Console) -> int:
    try:
        async with asyncio.timeout(args.timeout or None):
            return await _follow(args.watch == "true", sets, console)
    except TimeoutError:
        return _fail("timed out waiting for the rollout", 1)


async def _follow(watch: bool, sets: Sets, console: Console) -> int:
    """Show how the rollout goes: a table that moves for people, lines for programs."""
    said = ""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            raw = await sets.raw()
            owner = msgspec.convert(raw, ManagedSeedSet)
            await _expect_rollouts(owner, sets)
            members = await sets.replicas(owner)
            now = progress.of_set(owner, members, recorded=await sets.records(raw))
            if console.is_terminal:
                drawn = progress.table(owner, await sets.with_seeds(members), now)
                live.update(drawn, refresh=True)
            elif now.message != said:
                console.print(now.message, markup=False)
            said = now.message
            if now.done or now.stuck or not watch:
                break
            await asyncio.sleep(_POLL_SECONDS)
    if console.is_terminal:
        console.print(said, markup=False)
    return 1 if now.stuck else 0


async def _expect_rollouts(owner: ManagedSeedSet, sets: Sets) -> None:
    """Refuse to wait for what will never be told."""
    told = conditions.get(owner.status.conditions, names.PROGRESSING)
    noted = owner.metadata.annotations.get(names.ROLLOUT) == "true"
    if told is None and not noted and await sets.is_beside_gardener():
        raise UsageError(
            f"{sets.key} is made by Gardener and not rolled: annotate it with {names.ROLLOUT}=true"
        )


async def _history(args: argparse.Namespace, sets: Sets, console: Console) -> int:
    found = await sets.revisions(await sets.get())
    if args.revision:
        return _show(_find(found, args.revision), found, console)
    table = Table(box=None, pad_edge=False)
    for column in ("REVISION", "NAME", "CREATED", "CHANGE"):
        table.add_column(column, overflow="fold")
    before: ControllerRevision | None = None
    for revision in found:
        created = revision.metadata.creation_timestamp or ""
        summary = differences.summary(before, revision)
        table.add_row(str(revision.revision), revision.name, created, summary)
        before = revision
    console.print(table)
    return 0


def _show(
    revision: ControllerRevision, found: Sequence[ControllerRevision], console: Console
) -> int:
    earlier = [each for each in found if each.revision < revision.revision]
    before = earlier[-1] if earlier else None
    console.print(f"revision {revision.revision} ({revision.name})", markup=False)
    text = yaml.safe_dump(differences.templates(revision), sort_keys=True)
    _print(console, text, "yaml")
    if before is not None:
        console.print(f"changed since revision {before.revision}:", markup=False)
        _print(console, differences.unified(before, revision), "diff")
    return 0


async def _undo(args: argparse.Namespace, sets: Sets, console: Console) -> int:
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _try_undo(args, sets, console)
        except ConflictError:
            continue  # somebody else has just written the set
    return await _try_undo(args, sets, console)


async def _try_undo(args: argparse.Namespace, sets: Sets, console: Console) -> int:
    owner = await sets.get()
    found = await sets.revisions(owner)
    # The status may not have followed yet; what the set says now is what would be undone.
    data = rollout.data_of(await sets.raw())
    now = rollout.canonical(data)
    present = next((each for each in reversed(found) if rollout.canonical(each.data) == now), None)
    wanted = choose(found, present, args.to_revision)
    if present is not None and present.name == wanted.name:
        console.print(f"skipped: the set already has revision {wanted.revision}", markup=False)
        return 0
    if args.keep_versions or await sets.is_beside_gardener():
        wanted = _without_lowering(args, data, wanted)
    difference = differences.unified(present, wanted)
    if args.dry_run:
        _print(console, difference, "diff")
        return 0
    await sets.put_back(owner, wanted)
    _print(console, difference, "diff")
    console.print(f"managedseedset {sets.key} goes back to revision {wanted.revision}")
    return 0


def _without_lowering(
    args: argparse.Namespace, now: Draft, wanted: ControllerRevision
) -> ControllerRevision:
    """Refuse before any write what Gardener would refuse afterwards, replica by replica."""
    lowered = threeway.lowered(now, wanted.data)
    if not lowered:
        return wanted
    if not args.keep_versions:
        fields = ", ".join(lowered)
        raise UsageError(
            f"revision {wanted.revision} would lower Kubernetes versions, which cannot be done: "
            f"{fields}; undo the rest with --keep-versions"
        )
    return msgspec.structs.replace(wanted, data=threeway.keep_versions(now, wanted.data))


def choose(
    found: Sequence[ControllerRevision], present: ControllerRevision | None, number: int
) -> ControllerRevision:
    """Choose the revision to go back to, by default the one before the present templates.

    Templates that have just been written may not be recorded yet, or be those of an old revision
    that still has its old number: the newest one is before them.
    """
    if number:
        return _find(found, number)
    before = found[:-1] if found and present is found[-1] else found
    if not before:
        raise UsageError("there is no earlier revision to go back to")
    return before[-1]


def _find(found: Sequence[ControllerRevision], number: int) -> ControllerRevision:
    for revision in found:
        if revision.revision == number:
            return revision
    known = ", ".join(str(each.revision) for each in found) or "none"
    raise UsageError(f"there is no revision {number}; there are: {known}")


async def _pause(_args: argparse.Namespace, sets: Sets, console: Console) -> int:
    return await _set_paused(sets, console, paused=True)


async def _resume(_args: argparse.Namespace, sets: Sets, console: Console) -> int:
    return await _set_paused(sets, console, paused=False)


async def _set_paused(sets: Sets, console: Console, *, paused: bool) -> int:
    await sets.pause(await sets.get(), paused)
    console.print(f"managedseedset {sets.key} {'paused' if paused else 'resumed'}", markup=False)
    return 0


def _print(console: Console, text: str, language: str) -> None:
    if console.is_terminal:
        console.print(Syntax(text, language, background_color="default"))
    else:
        console.print(text, end="", markup=False)


def _fail(message: str, code: int) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


_ACTIONS: Final[Mapping[str, Action]] = {
    "status": _status,
    "history": _history,
    "undo": _undo,
    "pause": _pause,
    "resume": _resume,
}
