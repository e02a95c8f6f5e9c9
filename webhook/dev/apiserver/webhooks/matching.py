"""Match requests with the rules and selectors of webhooks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from webhook.dev.apiserver.admission.chain import CREATE, UPDATE
from webhook.dev.apiserver.webhooks.configurations import Webhook
from webhook.kube import status
from webhook.kube.meta import Draft, Raw
from webhook.kube.status import Qualified

_EXEMPT_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class VersionedResource:
    """A resource in one version, with the kind of the objects that a webhook receives."""

    group: str
    version: str
    resource: str
    kind_group: str
    kind_version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.kind_group}/{self.kind_version}" if self.kind_group else self.kind_version


@dataclass(slots=True)
class AdmissionRequest:
    """A request as webhooks receive it: an operation on an object, by a user."""

    resource: VersionedResource
    equivalents: tuple[VersionedResource, ...]
    """The same resource in other served versions."""
    subresource: str
    operation: str
    name: str
    namespace: str
    obj: Draft | None
    old: Draft | None
    options: Draft
    user: Draft
    dry_run: bool
    namespaced: bool


def is_exempt(request: AdmissionRequest) -> bool:
    """Whether no webhook is called, so that a broken webhook configuration can be fixed."""
    return request.resource.group == _EXEMPT_GROUP and request.resource.kind in (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )


def match_rules(webhook: Webhook, request: AdmissionRequest) -> VersionedResource | None:
    """Return the version of the resource that a webhook's rules match, None if none does."""
    for rule in webhook.rules:
        if _rule_matches(rule, request, request.resource):
            return request.resource
    if webhook.equivalent:
        for rule in webhook.rules:
            for resource in request.equivalents:
                if _rule_matches(rule, request, resource):
                    return resource
    return None


def _rule_matches(rule: Raw, request: AdmissionRequest, resource: VersionedResource) -> bool:
    return (
        _covers_scope(rule.get("scope", "*"), request)
        and _covers(rule.get("operations"), request.operation)
        and _covers(rule.get("apiGroups"), resource.group)
        and _covers(rule.get("apiVersions"), resource.version)
        and any(
            _covers_resource(pattern, resource.resource, request.subresource)
            for pattern in rule.get("resources") or ()
        )
    )


def _covers(patterns: Iterable[str] | None, value: str) -> bool:
    return any(pattern in ("*", value) for pattern in patterns or ())


def _covers_scope(scope: str, request: AdmissionRequest) -> bool:
    return scope == "*" or (scope == "Namespaced") == request.namespaced


def _covers_resource(pattern: str, resource: str, subresource: str) -> bool:
    name, _, part = pattern.partition("/")
    return name in ("*", resource) and part in ("*", subresource)


def matches_object_selector(webhook: Webhook, request: AdmissionRequest) -> bool:
    """Whether the old or the new object matches the objectSelector of a webhook."""
    selector = webhook.object_selector
    if selector.is_everything:
        return True
    return any(
        side is not None and selector.matches((side.get("metadata") or {}).get("labels"))
        for side in (request.obj, request.old)
    )


def matches_namespace_selector(
    webhook: Webhook, request: AdmissionRequest, namespace: Draft | None
) -> bool:
    """Whether the namespace matches the namespaceSelector; raises 404 if it does not exist."""
    selector = webhook.namespace_selector
    is_namespace = request.resource.group == "" and request.resource.resource == "namespaces"
    if selector.is_everything or (not request.namespace and not is_namespace):
        return True
    if is_namespace and not request.subresource and request.operation in (CREATE, UPDATE):
        namespace = request.obj
    if namespace is None:
        raise status.not_found(Qualified("", "namespaces"), request.namespace)
    return selector.matches((namespace.get("metadata") or {}).get("labels"))
