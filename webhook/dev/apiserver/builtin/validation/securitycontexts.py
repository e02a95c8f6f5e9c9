"""Validation of the security contexts of Pods and containers."""

from typing import Any, Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.meta import Raw

_MAX_ID: Final = 2**31 - 1
_SECCOMP_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def validate_pod_context(path: str, context: Raw) -> Errors:
    """Validate the security context of a Pod."""
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _id(f"{path}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _id(f"{path}.supplementalGroups[{index}]", group)
    yield from _seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))


def validate_container_context(path: str, context: Raw) -> Errors:
    """Validate the security context of a container."""
    for name in ("runAsUser", "runAsGroup"):
        yield from _id(f"{path}.{name}", context.get(name))
    yield from _seccomp(f"{path}.seccompProfile", context.get("seccompProfile"))


def _id(path: str, value: Any) -> Errors:
    if isinstance(value, int) and not 0 <= value <= _MAX_ID:
        yield fielderrors.invalid(path, value, f"must be between 0 and {_MAX_ID}, inclusive")


def _seccomp(path: str, profile: Raw | None) -> Errors:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield fielderrors.required(f"{path}.type", "type is required when seccompProfile is set")
        return
    if kind == "Localhost":
        if local is None:
            detail = "must be set when seccomp type is Localhost"
            yield fielderrors.required(f"{path}.localhostProfile", detail)
        return
    yield from checks.one_of(f"{path}.type", kind, _SECCOMP_TYPES)
    if local is not None and kind in _SECCOMP_TYPES:
        detail = "can only be set when seccomp type is Localhost"
        yield fielderrors.invalid(f"{path}.localhostProfile", local, detail)
