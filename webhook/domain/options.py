"""Options: what the operator has set and decisions read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings, one section for each family of rules, all with defaults.

    `settings` builds it; decisions find it at `snapshot.options`. A section is a frozen dataclass
    beside the rules that read it or, where several read it, in this module.
    """

    namespace: str = "espalier-system"
    """The namespace that Espalier itself lives in, with its ledgers and certificates."""

    beside_gardener: bool = False
    """Whether a real Gardener serves its own kinds here."""
