"""managedseedset.defaults: one replica, RollingUpdate, ten revisions; templates stay unchanged."""

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
    """Set the defaults of Gardener."""
    spec = drafts.section(draft, "spec")
    drafts.default(spec, "replicas", 1)
    drafts.default(spec, "revisionHistoryLimit", 10)
    strategy = drafts.section(spec, "updateStrategy")
    if strategy.get("type") is None:
        strategy["type"] = "RollingUpdate"
    if isinstance(strategy.get("rollingUpdate"), dict):
        drafts.default(strategy["rollingUpdate"], "partition", 0)
