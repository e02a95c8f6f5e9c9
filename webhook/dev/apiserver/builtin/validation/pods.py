"""Validation of Pods and of their updates."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import podspecs
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Raw

_IMMUTABLE_ERROR: Final = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
"""Without the diff of Go structs that kube-apiserver appends."""


def validate_pod(obj: Raw) -> Errors:
    """Validate a Pod."""
    yield from podspecs.validate_pod_spec("spec", obj.get("spec") or {})


def validate_pod_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a Pod; only few fields are mutable."""
    spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
    is_same = _immutable_fields(spec) == _immutable_fields(old_spec)
    if not is_same or not _keeps_tolerations(spec, old_spec):
        yield fielderrors.forbidden("spec", _IMMUTABLE_ERROR)


def _immutable_fields(spec: Raw) -> Draft:
    fixed: Draft = deep_copy(spec)
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        fixed.pop(name, None)
    if fixed.get("terminationGracePeriodSeconds") == 1:
        fixed.pop("terminationGracePeriodSeconds")
    for container in [*(fixed.get("containers") or ()), *(fixed.get("initContainers") or ())]:
        container.pop("image", None)
    return fixed


def _keeps_tolerations(spec: Raw, old_spec: Raw) -> bool:
    tolerations = spec.get("tolerations") or ()
    return all(toleration in tolerations for toleration in old_spec.get("tolerations") or ())
