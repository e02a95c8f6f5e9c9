"""Prevents privilege escalation: users cannot grant permissions that they do not hold."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from webhook.dev.apiserver.admission.chain import DELETE, Attributes
from webhook.dev.apiserver.auth.rbac import GROUP, AccessAttributes, Rbac, Rule, has_value
from webhook.dev.apiserver.endpoints.calls import User
from webhook.kube import gotext, status
from webhook.kube.meta import Raw
from webhook.kube.status import Qualified, StatusError

_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")


class _Permission(NamedTuple):
    """The smallest part of a rule: one verb on one resource, object or path."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


class EscalationGuard:
    """The admission plugin for roles and bindings."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac

    async def mutate(self, attributes: Attributes) -> None:
        """Mutate nothing."""

    async def validate(self, attributes: Attributes) -> None:
        """Reject a role or binding that grants more than its writer holds."""
        resource, obj = attributes.call.resource, attributes.obj
        if resource.group != GROUP or obj is None or attributes.operation == DELETE:
            return
        old, user = attributes.old, attributes.call.user
        namespace = obj["metadata"].get("namespace", "")
        if resource.plural in _ROLES:
            if old is not None and old.get("rules") == obj.get("rules"):
                return
            rules = list(obj.get("rules") or ())
            named = AccessAttributes(
                "escalate", GROUP, resource.plural, "", namespace, attributes.name
            )
        elif resource.plural in _BINDINGS:
            if old is not None and old.get("subjects") == obj.get("subjects"):
                return
            reference = obj.get("roleRef") or {}
            kind = f"{str(reference.get('kind', '')).lower()}s"
            named = AccessAttributes("bind", GROUP, kind, "", namespace, reference.get("name", ""))
            if self._rbac.decide(user, named).allowed:
                return
            found = self._rbac.rules_of(reference, namespace)
            if found is None:
                raise status.not_found(resource.qualified, reference.get("name", ""))
            rules = found
        else:
            return
        if self._rbac.decide(user, named).allowed:
            return
        missing = list(self._missing(user, namespace, rules))
        if missing:
            raise _refusal(resource.qualified, attributes.name, user, missing)

    def _missing(self, user: User, namespace: str, rules: Iterable[Rule]) -> Iterator[_Permission]:
        held = [grant.rule for grant in self._rbac.grants(user, namespace)]
        for permission in dict.fromkeys(
            permission for rule in rules for permission in _permissions_of(rule)
        ):
            if not any(_covers(rule, permission) for rule in held):
                yield permission


def _permissions_of(rule: Raw) -> Iterator[_Permission]:
    for verb in rule.get("verbs") or ():
        for url in rule.get("nonResourceURLs") or ():
            yield _Permission(verb, url=url)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield _Permission(verb, group, resource, name)


def _covers(rule: Raw, permission: _Permission) -> bool:
    if not has_value(rule.get("verbs"), permission.verb):
        return False
    if permission.url:
        return any(
            url in ("*", permission.url)
            or (url.endswith("*") and permission.url.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs") or ()
        )
    names = rule.get("resourceNames")
    part = permission.resource.partition("/")[2]
    resources = rule.get("resources") or ()
    return (
        has_value(rule.get("apiGroups"), permission.group)
        and (has_value(resources, permission.resource) or (bool(part) and f"*/{part}" in resources))
        and (not names or permission.name in names)
    )


def _refusal(
    resource: Qualified, name: str, user: User, missing: Iterable[_Permission]
) -> StatusError:
    groups = " ".join(map(gotext.quote, user.groups))
    why = (
        f"user {gotext.quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC "
        "permissions not currently held:\n" + "\n".join(_format_missing(missing))
    )
    return status.forbidden(resource, name, why)


def _format_missing(missing: Iterable[_Permission]) -> list[str]:
    """Format missing permissions as Kubernetes does, with the verbs on one resource together."""
    verbs: dict[_Permission, list[str]] = {}
    for permission in missing:
        verbs.setdefault(permission._replace(verb=""), []).append(permission.verb)
    rows = []
    for permission, found in verbs.items():
        parts = []
        if permission.url:
            parts.append(f"NonResourceURLs:[{gotext.quote(permission.url)}]")
        else:
            parts.append(f"APIGroups:[{gotext.quote(permission.group)}]")
            parts.append(f"Resources:[{gotext.quote(permission.resource)}]")
        if permission.name:
            parts.append(f"ResourceNames:[{gotext.quote(permission.name)}]")
        shown = " ".join(map(gotext.quote, sorted(found)))
        rows.append("{" + ", ".join([*parts, f"Verbs:[{shown}]"]) + "}")
    return sorted(rows)
