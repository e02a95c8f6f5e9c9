"""The seed selectors of shoots, CloudProfiles and ExposureClasses."""

from typing import Final

from webhook.api.shoots import SeedSelector
from webhook.kube import selectors
from webhook.kube.requirements import SelectorError
from webhook.kube.selectors import EVERYTHING, NOTHING, LabelSelector

ANY: Final = "*"


def label_selector(selector: SeedSelector | None) -> LabelSelector:
    """Compile the label selector; an empty one matches every seed, a malformed one none."""
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return EVERYTHING
    selector_object = {
        "matchLabels": selector.match_labels,
        "matchExpressions": [
            {"key": term.key, "operator": term.operator, "values": term.values}
            for term in selector.match_expressions
        ],
    }
    try:
        return selectors.from_object(selector_object)
    except SelectorError:
        return NOTHING


def provider_matches(provider: str, wanted: str, allowed: tuple[str, ...]) -> bool:
    """Return whether a seed's provider is allowed or, without a list, the wanted one."""
    return provider in allowed or ANY in allowed if allowed else provider == wanted
