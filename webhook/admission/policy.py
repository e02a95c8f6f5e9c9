"""What a policy is: a row of the table, and the two kinds of functions that it may name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from webhook.admission.decision import Finding, Grant, Operation, Request
from webhook.api.meta import Draft, Object
from webhook.domain.options import Failure, Mode
from webhook.state.snapshot import Snapshot

Mutator: TypeAlias = Callable[[Draft, Request, Snapshot], Iterable[str] | Grant | None]
"""Edits the one shared draft; what it returns are warnings, or what it would have to take."""

Validator: TypeAlias = Callable[[Request, Snapshot], Iterable[Finding]]
"""Yields every objection, not the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table: what is judged, when, by which function."""

    name: str
    models: tuple[type[Object], ...]
    operations: tuple[Operation, ...]
    mutate: Mutator | None = None
    validate: Validator | None = None
    subresources: tuple[str, ...] = ("",)
    label: str = ""
    """Where set, only namespaces with this label are of interest, and every write there is:
    the answer depends on what we know and not only on what the write changes."""
    failure: Failure = "Ignore"
    why: str
    takes: bool = False
    """Whether it may ask for a Grant, which writes, though not on dry-run."""
    lets_go: bool = False
    """Whether it judges changes of finalizers too, which pass without a question otherwise."""
    changes: str = ""
    """Where set, only writes that change this number of the spec are of interest."""
    beside_gardener: bool = False
    mode: Mode = "deny"
