"""seedautoscaler.defaults: at least one replica, mode Auto."""

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
    """Set minReplicas and mode."""
    spec = drafts.section(draft, "spec")
    drafts.default(spec, "minReplicas", 1)
    drafts.default(spec, "mode", "Auto")
