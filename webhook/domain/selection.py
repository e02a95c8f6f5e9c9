"""Which seeds a selector of a shoot or of its cloud profile means."""

from typing import Final

from webhook.api import selectors
from webhook.api.requirements import SelectorError
from webhook.api.selectors import EVERYTHING, NOTHING, LabelSelector
from webhook.api.shoots import SeedSelector

ANY: Final = "*"


def labels(selector: SeedSelector | None) -> LabelSelector:
    """Read the conditions on labels; none match every seed, and malformed ones match none."""
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return EVERYTHING
    written = {
        "matchLabels": selector.match_labels,
        "matchExpressions": [
            {"key": term.key, "operator": term.operator, "values": term.values}
            for term in selector.match_expressions
        ],
    }
    try:
        return selectors.from_object(written)
    except SelectorError:
        return NOTHING


def provider_matches(provider: str, wanted: str, allowed: tuple[str, ...]) -> bool:
    """Tell whether a seed's provider is the wanted one, or one of those allowed instead."""
    return provider in allowed or ANY in allowed if allowed else provider == wanted
