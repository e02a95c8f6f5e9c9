"""seedautoscaler.defaults: never fewer than one seed, acting by itself."""

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.api.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
    """Fill the smallest number of replicas and the mode."""
    spec = drafts.section(draft, "spec")
    drafts.default(spec, "minReplicas", 1)
    drafts.default(spec, "mode", "Auto")
