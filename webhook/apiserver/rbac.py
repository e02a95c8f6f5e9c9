"""Role-based access: which rules a user has, and what a rule allows."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.api import gotext, selectors
from webhook.apiserver.calls import User
from webhook.apiserver.collection import Collection
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry, key_of

Object = dict[str, Any]
Rule = Mapping[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
MASTERS: Final = "system:masters"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"


class Access(NamedTuple):
    """One thing that someone wants to do: a verb on a resource, or on a path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Grant(NamedTuple):
    """A rule that a user has, and why."""

    rule: Rule
    reason: str


class Decision(NamedTuple):
    """Whether something is allowed, and why or why not."""

    allowed: bool
    reason: str = ""


def allows(rule: Rule, access: Access) -> bool:
    """Whether a rule covers what someone wants to do."""
    if not _has(rule.get("verbs"), access.verb):
        return False
    if access.path:
        return any(_covers_path(url, access.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups"), access.group)
        and _covers_resource(rule.get("resources") or (), access)
        and (not names or access.name in names)
    )


def _has(wanted: Iterable[str] | None, asked: str) -> bool:
    return any(one in ("*", asked) for one in wanted or ())


def _covers_path(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _covers_resource(resources: Iterable[str], access: Access) -> bool:
    part = f"*/{access.subresource}" if access.subresource else ""
    return any(one in ("*", access.full_resource) or (part and one == part) for one in resources)


class _Decoded:
    """The objects of a collection, decoded once for each change."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._known: dict[str, tuple[int, Object]] = {}

    def get(self, key: str) -> Object | None:
        entry = self._collection.head(key)
        return None if entry is None else self._decode(entry)

    def list(self, namespace: str = "") -> Iterator[Object]:
        return map(self._decode, self._collection.current(namespace))

    def _decode(self, entry: Entry) -> Object:
        known = self._known.get(entry.key)
        if known is None or known[0] != entry.rv:
            known = (entry.rv, entry.decode())
            self._known[entry.key] = known
        return known[1]


class Rbac:
    """Decides by the stored roles and bindings."""

    def __init__(self, core: Core) -> None:
        self._cluster_roles = _Decoded(core.store.collection(f"clusterroles.{GROUP}"))
        self._roles = _Decoded(core.store.collection(f"roles.{GROUP}"))
        self._cluster_bindings = _Decoded(core.store.collection(f"clusterrolebindings.{GROUP}"))
        self._bindings = _Decoded(core.store.collection(f"rolebindings.{GROUP}"))

    def decide(self, user: User, access: Access) -> Decision:
        """Decide about one access; the masters may do everything."""
        if MASTERS in user.groups:
            return Decision(True)
        missing: list[str] = []
        for grant in self.grants(user, access.namespace, missing):
            if allows(grant.rule, access):
                return Decision(True, grant.reason)
        if missing:
            listed = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
            return Decision(False, f"RBAC: {listed}")
        return Decision(False)

    def grants(
        self, user: User, namespace: str, missing: list[str] | None = None
    ) -> Iterator[Grant]:
        """List the rules that a user has everywhere and in a namespace."""
        for binding in self._cluster_bindings.list():
            yield from self._granted(binding, user, "", missing)
        if namespace:
            for binding in self._bindings.list(namespace):
                yield from self._granted(binding, user, namespace, missing)

    def _granted(
        self, binding: Object, user: User, namespace: str, missing: list[str] | None
    ) -> Iterator[Grant]:
        subject = _subject(binding, user, namespace)
        if subject is None:
            return
        reference = binding.get("roleRef") or {}
        rules = self.rules_of(reference, namespace)
        if rules is None:
            if missing is not None:
                kind, name = str(reference.get("kind", "")).lower(), reference.get("name", "")
                missing.append(f"{kind}.{GROUP} {gotext.quote(name)} not found")
            return
        metadata = binding["metadata"]
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        shown = f"{metadata['name']}/{namespace}" if namespace else metadata["name"]
        reason = (
            f"RBAC: allowed by {kind} {gotext.quote(shown)} of {reference['kind']} "
            f"{gotext.quote(reference['name'])} to {subject}"
        )
        for rule in rules:
            yield Grant(rule, reason)

    def rules_of(self, reference: Mapping[str, Any], namespace: str) -> list[Rule] | None:
        """Return the rules of a role and those that it aggregates; None if it is not there."""
        name = reference.get("name", "")
        if reference.get("kind") == "Role":
            role = self._roles.get(key_of(namespace, name))
        else:
            role = self._cluster_roles.get(name)
        if role is None:
            return None
        aggregation = role.get("aggregationRule")
        if not aggregation:
            return list(role.get("rules") or ())
        return self._aggregated(role, aggregation.get("clusterRoleSelectors") or ())

    def _aggregated(self, role: Object, found: Iterable[Mapping[str, Any]]) -> list[Rule]:
        """Collect the rules of all selected roles; those may aggregate in turn."""
        rules: list[Rule] = []
        wanted = [selectors.from_object(selector) for selector in found]
        for other in self._cluster_roles.list():
            labels = other["metadata"].get("labels")
            if other is role or not any(selector.matches(labels) for selector in wanted):
                continue
            nested = other.get("aggregationRule")
            inner = (nested or {}).get("clusterRoleSelectors") or ()
            more = self._aggregated(other, inner) if nested else other.get("rules") or ()
            rules += [rule for rule in more if rule not in rules]
        return rules


def _subject(binding: Object, user: User, namespace: str) -> str | None:
    """Name the subject of a binding that a user is, None if none is."""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == user.name:
            return f"User {gotext.quote(name)}"
        if kind == "Group" and name in user.groups:
            return f"Group {gotext.quote(name)}"
        if kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if home and user.name == f"{ACCOUNT_PREFIX}{home}:{name}":
                return f"ServiceAccount {gotext.quote(f'{name}/{home}')}"
    return None
