"""Policy: a row of the table of policies, with its mutator and validator."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from webhook.admission.decision import Finding, Grant, Operation, Request
from webhook.domain.options import FailurePolicy, Mode
from webhook.kube.meta import Draft, Object
from webhook.state.snapshot import Snapshot

Mutator: TypeAlias = Callable[[Draft, Request, Snapshot], Iterable[str] | Grant | None]
"""Edits the shared draft; returns warnings, or a Grant that it needs."""

Validator: TypeAlias = Callable[[Request, Snapshot], Iterable[Finding]]
"""Yields every finding, not only the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One row of the table: kinds, operations, and the functions that mutate or validate them."""

    name: str
    models: tuple[type[Object], ...]
    operations: tuple[Operation, ...]
    mutate: Mutator | None = None
    validate: Validator | None = None
    subresources: tuple[str, ...] = ("",)
    namespace_label: str = ""
    """Where set, only namespaces with this label match, and every write there does: the decision
    depends on other objects and not only on what the write changes."""
    failure: FailurePolicy = "Ignore"
    why: str
    """The reason for the failure policy."""
    has_side_effects: bool = False
    """Whether it may return a Grant, which is written, though not on dry-run."""
    validates_finalizers: bool = False
    """Whether it also runs for updates that only remove finalizers."""
    changed_field: str = ""
    """Where set, only writes that change this number of the spec match."""
    beside_gardener: bool = False
    """Whether it also runs beside a Gardener, whose own admission does the rest there."""
    mode: Mode = "deny"
    """The default mode."""
