"""Objections to Pods, beyond those to their spec."""

import copy
from typing import Any, Final

from webhook.api import fielderrors
from webhook.apiserver.builtin.validation import podspecs
from webhook.apiserver.builtin.validation.checks import Errors

Object = dict[str, Any]

_MUTABLE: Final = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod(obj: Object) -> Errors:
    """Judge a Pod."""
    yield from podspecs.pod_spec("spec", obj.get("spec") or {})


def pod_update(obj: Object, old: Object) -> Errors:
    """Judge a change of a Pod: hardly anything may change."""
    if _fixed(obj.get("spec") or {}) != _fixed(old.get("spec") or {}) or not _tolerates_more(
        obj, old
    ):
        yield fielderrors.forbidden("spec", _MUTABLE)


def _fixed(spec: Object) -> Object:
    rest = copy.deepcopy(spec)
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        rest.pop(name, None)
    if rest.get("terminationGracePeriodSeconds") == 1:
        rest.pop("terminationGracePeriodSeconds")
    for container in [*(rest.get("containers") or ()), *(rest.get("initContainers") or ())]:
        container.pop("image", None)
    return rest


def _tolerates_more(obj: Object, old: Object) -> bool:
    after = (obj.get("spec") or {}).get("tolerations") or ()
    return all(one in after for one in (old.get("spec") or {}).get("tolerations") or ())
