"""Which webhooks a request concerns: rules, selectors, versions and conditions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api import status
from webhook.api.status import Qualified
from webhook.apiserver.admission import CREATE, UPDATE
from webhook.apiserver.webhooks.hooks import Hook

Object = dict[str, Any]

_EXEMPT_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Identity:
    """A resource at one version, with the kind of the objects that a webhook sees."""

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
class Request:
    """What is asked, as webhooks are told: an operation on an object, and who asks."""

    identity: Identity
    equivalents: tuple[Identity, ...]
    """The same resource at other served versions."""
    subresource: str
    operation: str
    name: str
    namespace: str
    obj: Object | None
    old: Object | None
    options: Object
    user: Object
    dry_run: bool
    namespaced: bool


def is_exempt(request: Request) -> bool:
    """Webhooks cannot stop anyone from mending the configuration of webhooks."""
    return request.identity.group == _EXEMPT_GROUP and request.identity.kind in (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )


def identity_for(hook: Hook, request: Request) -> Identity | None:
    """Return in which version a webhook wants to see the request, None if it does not."""
    for rule in hook.rules:
        if _rule_matches(rule, request, request.identity):
            return request.identity
    if hook.equivalent:
        for rule in hook.rules:
            for identity in request.equivalents:
                if _rule_matches(rule, request, identity):
                    return identity
    return None


def _rule_matches(rule: Mapping[str, Any], request: Request, identity: Identity) -> bool:
    return (
        _covers_scope(rule.get("scope", "*"), request)
        and _covers(rule.get("operations"), request.operation)
        and _covers(rule.get("apiGroups"), identity.group)
        and _covers(rule.get("apiVersions"), identity.version)
        and any(
            _covers_resource(wanted, identity.resource, request.subresource)
            for wanted in rule.get("resources") or ()
        )
    )


def _covers(wanted: Iterable[str] | None, asked: str) -> bool:
    return any(one in ("*", asked) for one in wanted or ())


def _covers_scope(scope: str, request: Request) -> bool:
    return scope == "*" or (scope == "Namespaced") == request.namespaced


def _covers_resource(wanted: str, resource: str, subresource: str) -> bool:
    name, _, part = wanted.partition("/")
    return name in ("*", resource) and part in ("*", subresource)


def selected_object(hook: Hook, request: Request) -> bool:
    """Whether the object, before or after, has the labels that a webhook asks for."""
    selector = hook.object_selector
    if selector.is_everything:
        return True
    return any(
        side is not None and selector.matches((side.get("metadata") or {}).get("labels"))
        for side in (request.obj, request.old)
    )


def selected_namespace(hook: Hook, request: Request, namespace: Object | None) -> bool:
    """Whether the namespace has the labels that a webhook asks for; 404 if it does not exist."""
    selector = hook.namespace_selector
    is_namespace = request.identity.group == "" and request.identity.resource == "namespaces"
    if selector.is_everything or (not request.namespace and not is_namespace):
        return True
    if is_namespace and not request.subresource and request.operation in (CREATE, UPDATE):
        namespace = request.obj
    if namespace is None:
        raise status.not_found(Qualified("", "namespaces"), request.namespace)
    return selector.matches((namespace.get("metadata") or {}).get("labels"))
