"""The page of Event reasons."""

from typing import Final

from webhook.api.event_reasons import EVENT_REASONS
from webhook.dev.reference import markdown

_INTRODUCTION: Final = """# Event reasons

Every reason of the Kubernetes Events that Espalier records. `kubectl get events -A
--field-selector reason=REASON` finds them.

"""


def page() -> str:
    """Write the page."""
    rows = (
        (markdown.code(reason), about.kind, about.type, about.meaning, about.remedy)
        for reason, about in sorted(EVENT_REASONS.items())
    )
    return _INTRODUCTION + markdown.table(("reason", "on", "type", "meaning", "what to do"), rows)
