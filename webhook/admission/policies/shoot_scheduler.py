"""shoot.scheduler: shoots of namespaces that ask for it are placed by Espalier."""

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.api import names
from webhook.api.core import Namespace
from webhook.api.meta import Draft, ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import hosting
from webhook.state.snapshot import Snapshot

_UNCHOSEN = ("", "default-scheduler")
"""What a shoot has that nobody chose a scheduler for: Gardener's defaults come before us."""


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Choose our scheduler for a new shoot, unless another one was chosen; it never changes."""
    shoot = request.object_as(Shoot)
    if shoot.spec.scheduler_name not in _UNCHOSEN or hosting.is_self_hosted(shoot):
        return
    namespace = snapshot.look_up(Namespace, ObjectKey("", request.key.namespace))
    if namespace is None or namespace.metadata.labels.get(names.SCHEDULER_NAMESPACE) != "true":
        return
    drafts.section(draft, "spec")["schedulerName"] = names.SCHEDULER_NAME
