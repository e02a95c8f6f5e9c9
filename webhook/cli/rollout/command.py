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

from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeedSet
from webhook.cli import connection
from webhook.cli.rollout import differences, progress
from webhook.cli.rollout.sets import SetClient
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, ConflictError, NotFoundError
from webhook.domain.sets import rollout, three_way_merge
from webhook.kube import conditions
from webhook.kube.meta import Draft, ObjectKey

_KINDS: Final = ("mss", "managedseedset", "managedseedsets")
_POLL_SECONDS: Final = 1.0
_ATTEMPTS: Final = 5
_PIPE_WIDTH: Final = 1000
"""Wide enough that output to a program is not wrapped."""

Subcommand: TypeAlias = Callable[[argparse.Namespace, SetClient, Console], Awaitable[int]]


class UsageError(Exception):
    """A command line that cannot be carried out; the message names the remedy."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="follow a rollout until it is complete")
    history = actions.add_parser("history", help="list revisions and their changes")
    undo = actions.add_parser("undo", help="go back to an earlier revision")
    pause = actions.add_parser("pause", help="pause updates")
    resume = actions.add_parser("resume", help="resume updates")
    for each in (status, history, undo, pause, resume):
        each.add_argument("target", metavar="mss/NAME", help="the ManagedSeedSet, as mss/NAME")
        each.add_argument("-n", "--namespace", default="", help="its namespace")
        connection.add_flags(each)
    status.add_argument(
        "-w",
        "--watch",
        choices=("true", "false"),
        nargs="?",
        const="true",
        default="true",
        help="whether to wait until the rollout is complete (default true)",
    )
    status.add_argument(
        "--timeout", type=float, default=0, help="seconds to wait; 0: no limit (default)"
    )
    history.add_argument("--revision", type=int, help="show this revision and its diff")
    undo.add_argument("--to-revision", type=int, default=0, help="0: the previous one (default)")
    undo.add_argument(
        "--keep-versions",
        action="store_true",
        help="keep the Kubernetes versions, which cannot be lowered",
    )
    undo.add_argument("--dry-run", action="store_true", help="only show what would change")


def run(args: argparse.Namespace) -> int:
    """Run one action; 1 if it failed, 2 if the arguments or the kubeconfig are unusable."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
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
        return _fail(f"the API server answered: {error.message}", 1)


async def _run(args: argparse.Namespace, console: Console) -> int:
    name = _name(args.target)
    access = await config.load(args.kubeconfig, args.context)
    key = ObjectKey(args.namespace or access.namespace or "default", name)
    async with Client(access) as client:
        return await _ACTIONS[args.action](args, SetClient(client, key), console)


def _name(target: str) -> str:
    kind, slash, name = target.partition("/")
    if not slash:
        kind, name = _KINDS[0], target
    if kind.partition(".")[0].lower() not in _KINDS or not name:
        raise UsageError(f"{target!r} is no ManagedSeedSet: write mss/NAME")
    return name


async def _status(args: argparse.Namespace, sets: SetClient, console: Console) -> int:
    try:
        async with asyncio.timeout(args.timeout or None):
            return await _follow(args.watch == "true", sets, console)
    except TimeoutError:
        return _fail("timed out waiting for the rollout", 1)


async def _follow(watch: bool, sets: SetClient, console: Console) -> int:
    """Show the progress: a live table on a terminal, else a line for each change."""
    printed = ""
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            raw = await sets.raw()
            owner = msgspec.convert(raw, ManagedSeedSet)
            await _require_rollouts(owner, sets)
            members = await sets.replicas(owner)
            now = progress.progress_of(owner, members, recorded=await sets.is_status_current(raw))
            if console.is_terminal:
                shown = progress.table(owner, await sets.with_seeds(members), now)
                live.update(shown, refresh=True)
            elif now.message != printed:
                console.print(now.message, markup=False)
            printed = now.message
            if now.done or now.stuck or not watch:
                break
            await asyncio.sleep(_POLL_SECONDS)
    if console.is_terminal:
        console.print(printed, markup=False)
    return 1 if now.stuck else 0


async def _require_rollouts(owner: ManagedSeedSet, sets: SetClient) -> None:
    """Raise UsageError if no controller reports the progress of this set."""
    progressing = conditions.get(owner.status.conditions, names.PROGRESSING)
    enabled = owner.metadata.annotations.get(names.ROLLOUT) == "true"
    if progressing is None and not enabled and await sets.is_beside_gardener():
        raise UsageError(
            f"{sets.key} is managed by Gardener and not rolled out by Espalier: "
            f"annotate it with {names.ROLLOUT}=true"
        )


async def _history(args: argparse.Namespace, sets: SetClient, console: Console) -> int:
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
    _print_code(console, text, "yaml")
    if before is not None:
        console.print(f"changed since revision {before.revision}:", markup=False)
        _print_code(console, differences.unified(before, revision), "diff")
    return 0


async def _undo(args: argparse.Namespace, sets: SetClient, console: Console) -> int:
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _try_undo(args, sets, console)
        except ConflictError:
            continue  # the set has changed since it was read
    return await _try_undo(args, sets, console)


async def _try_undo(args: argparse.Namespace, sets: SetClient, console: Console) -> int:
    owner = await sets.get()
    found = await sets.revisions(owner)
    # Not from the status, which may be older: the templates of the spec are what is undone.
    data = rollout.revision_data(await sets.raw())
    now = rollout.canonical(data)
    present = next((each for each in reversed(found) if rollout.canonical(each.data) == now), None)
    wanted = choose_revision(found, present, args.to_revision)
    if present is not None and present.name == wanted.name:
        console.print(f"skipped: the set is at revision {wanted.revision} already", markup=False)
        return 0
    if args.keep_versions or await sets.is_beside_gardener():
        wanted = _without_downgrades(args, data, wanted)
    difference = differences.unified(present, wanted)
    if args.dry_run:
        _print_code(console, difference, "diff")
        return 0
    await sets.restore(owner, wanted)
    _print_code(console, difference, "diff")
    console.print(f"managedseedset {sets.key} rolled back to revision {wanted.revision}")
    return 0


def _without_downgrades(
    args: argparse.Namespace, now: Draft, wanted: ControllerRevision
) -> ControllerRevision:
    """Reject lower Kubernetes versions before the write: Gardener would reject every replica."""
    lowered = three_way_merge.lowered_versions(now, wanted.data)
    if not lowered:
        return wanted
    if not args.keep_versions:
        fields = ", ".join(lowered)
        raise UsageError(
            f"revision {wanted.revision} would lower Kubernetes versions, which is not allowed: "
            f"{fields}; undo the rest with --keep-versions"
        )
    return msgspec.structs.replace(wanted, data=three_way_merge.keep_versions(now, wanted.data))


def choose_revision(
    found: Sequence[ControllerRevision], present: ControllerRevision | None, number: int
) -> ControllerRevision:
    """Choose the revision to roll back to, by default the one before the present templates.

    Present templates may not have a revision yet, or be those of an old revision that still has
    its old number. Then the newest revision is the one before them.
    """
    if number:
        return _find(found, number)
    before = found[:-1] if found and present is found[-1] else found
    if not before:
        raise UsageError("there is no earlier revision to roll back to")
    return before[-1]


def _find(found: Sequence[ControllerRevision], number: int) -> ControllerRevision:
    for revision in found:
        if revision.revision == number:
            return revision
    known = ", ".join(str(each.revision) for each in found) or "none"
    raise UsageError(f"there is no revision {number}; there are: {known}")


async def _pause(_args: argparse.Namespace, sets: SetClient, console: Console) -> int:
    return await _set_paused(sets, console, paused=True)


async def _resume(_args: argparse.Namespace, sets: SetClient, console: Console) -> int:
    return await _set_paused(sets, console, paused=False)


async def _set_paused(sets: SetClient, console: Console, *, paused: bool) -> int:
    await sets.pause(await sets.get(), paused)
    console.print(f"managedseedset {sets.key} {'paused' if paused else 'resumed'}", markup=False)
    return 0


def _print_code(console: Console, text: str, language: str) -> None:
    if console.is_terminal:
        console.print(Syntax(text, language, background_color="default"))
    else:
        console.print(text, end="", markup=False)


def _fail(message: str, code: int) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


_ACTIONS: Final[Mapping[str, Subcommand]] = {
    "status": _status,
    "history": _history,
    "undo": _undo,
    "pause": _pause,
    "resume": _resume,
}
