"""Nobody grants what they do not hold: roles and bindings against the rules of their writer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.api import gotext, status
from webhook.api.status import Qualified, StatusError
from webhook.apiserver.admission import DELETE, Attributes
from webhook.apiserver.calls import User
from webhook.apiserver.rbac import GROUP, Access, Rbac, Rule

Object = dict[str, Any]

_ROLES: Final = ("roles", "clusterroles")
_BINDINGS: Final = ("rolebindings", "clusterrolebindings")


class _Right(NamedTuple):
    """The smallest part of a rule: one verb on one resource, object or path."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


class EscalationGuard:
    """The admission plugin that looks at roles and bindings."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac

    async def mutate(self, attributes: Attributes) -> None:
        """Change nothing."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a role or binding that would give away more than its writer has."""
        resource, obj = attributes.call.resource, attributes.obj
        if resource.group != GROUP or obj is None or attributes.operation == DELETE:
            return
        old, user = attributes.old, attributes.call.user
        namespace = obj["metadata"].get("namespace", "")
        if resource.plural in _ROLES:
            if old is not None and old.get("rules") == obj.get("rules"):
                return
            rules = list(obj.get("rules") or ())
            named = Access("escalate", GROUP, resource.plural, "", namespace, attributes.name)
        elif resource.plural in _BINDINGS:
            if old is not None and old.get("subjects") == obj.get("subjects"):
                return
            reference = obj.get("roleRef") or {}
            kind = f"{str(reference.get('kind', '')).lower()}s"
            named = Access("bind", GROUP, kind, "", namespace, reference.get("name", ""))
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

    def _missing(self, user: User, namespace: str, rules: Iterable[Rule]) -> Iterator[_Right]:
        held = [grant.rule for grant in self._rbac.grants(user, namespace)]
        for right in dict.fromkeys(right for rule in rules for right in _rights(rule)):
            if not any(_covers(rule, right) for rule in held):
                yield right


def _rights(rule: Mapping[str, Any]) -> Iterator[_Right]:
    for verb in rule.get("verbs") or ():
        for url in rule.get("nonResourceURLs") or ():
            yield _Right(verb, url=url)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    yield _Right(verb, group, resource, name)


def _covers(rule: Mapping[str, Any], right: _Right) -> bool:
    if not _has(rule.get("verbs"), right.verb):
        return False
    if right.url:
        return any(
            url in ("*", right.url) or (url.endswith("*") and right.url.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs") or ()
        )
    names = rule.get("resourceNames")
    part = right.resource.partition("/")[2]
    resources = rule.get("resources") or ()
    return (
        _has(rule.get("apiGroups"), right.group)
        and (_has(resources, right.resource) or (bool(part) and f"*/{part}" in resources))
        and (not names or right.name in names)
    )


def _has(wanted: Iterable[str] | None, asked: str) -> bool:
    return any(one in ("*", asked) for one in wanted or ())


def _refusal(resource: Qualified, name: str, user: User, missing: Iterable[_Right]) -> StatusError:
    groups = " ".join(map(gotext.quote, user.groups))
    why = (
        f"user {gotext.quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC "
        "permissions not currently held:\n" + "\n".join(_shown(missing))
    )
    return status.forbidden(resource, name, why)


def _shown(missing: Iterable[_Right]) -> list[str]:
    """Show what is missing, the verbs on one thing together."""
    verbs: dict[_Right, list[str]] = {}
    for right in missing:
        verbs.setdefault(right._replace(verb=""), []).append(right.verb)
    rows = []
    for right, found in verbs.items():
        parts = []
        if right.url:
            parts.append(f"NonResourceURLs:[{gotext.quote(right.url)}]")
        else:
            parts.append(f"APIGroups:[{gotext.quote(right.group)}]")
            parts.append(f"Resources:[{gotext.quote(right.resource)}]")
        if right.name:
            parts.append(f"ResourceNames:[{gotext.quote(right.name)}]")
        shown = " ".join(map(gotext.quote, sorted(found)))
        rows.append("{" + ", ".join([*parts, f"Verbs:[{shown}]"]) + "}")
    return sorted(rows)
