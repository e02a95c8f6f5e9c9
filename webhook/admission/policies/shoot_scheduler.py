"""shoot.scheduler: shoots of labelled namespaces are placed by Espalier."""

from typing import Final

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.api import names
from webhook.api.core import Namespace
from webhook.api.shoots import Shoot
from webhook.domain.shoots import unscheduled
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.snapshot import Snapshot

_DEFAULT_SCHEDULERS: Final = ("", "default-scheduler")
"""The values of a shoot whose user chose no scheduler; Gardener sets its default before us."""


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Set our scheduler on a new shoot, unless another one is set; the field is immutable."""
    shoot = request.object_as(Shoot)
    if shoot.spec.scheduler_name not in _DEFAULT_SCHEDULERS or unscheduled.is_self_hosted(shoot):
        return
    namespace = snapshot.look_up(Namespace, ObjectKey("", request.key.namespace))
    if namespace is None or namespace.metadata.labels.get(names.SCHEDULER_NAMESPACE) != "true":
        return
    drafts.section(draft, "spec")["schedulerName"] = names.SCHEDULER_NAME
