"""RBAC: the rules of a user, and what a rule allows."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import User
from webhook.dev.apiserver.storage.collection import Collection
from webhook.dev.apiserver.storage.entries import Entry, key_of
from webhook.kube import gotext, selectors
from webhook.kube.meta import Draft, Raw

Rule: TypeAlias = Raw
"""A PolicyRule."""

GROUP: Final = "rbac.authorization.k8s.io"
MASTERS: Final = "system:masters"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"


class AccessAttributes(NamedTuple):
    """The access that a request needs: a verb on a resource or on a path."""

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


class GrantedRule(NamedTuple):
    """A rule that a user has, and the binding that grants it."""

    rule: Rule
    reason: str


class Decision(NamedTuple):
    """Whether access is allowed, and why."""

    allowed: bool
    reason: str = ""


def rule_allows(rule: Rule, access: AccessAttributes) -> bool:
    """Return whether a rule allows an access."""
    if not has_value(rule.get("verbs"), access.verb):
        return False
    if access.path:
        return any(_covers_path(url, access.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        has_value(rule.get("apiGroups"), access.group)
        and _covers_resource(rule.get("resources") or (), access)
        and (not names or access.name in names)
    )


def has_value(allowed: Iterable[str] | None, value: str) -> bool:
    """Return whether a list of a rule has a value or the wildcard."""
    return any(each in ("*", value) for each in allowed or ())


def _covers_path(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _covers_resource(resources: Iterable[str], access: AccessAttributes) -> bool:
    part = f"*/{access.subresource}" if access.subresource else ""
    return any(each in ("*", access.full_resource) or (part and each == part) for each in resources)


class _Decoded:
    """The objects of a collection, decoded once per change."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._known: dict[str, tuple[int, Draft]] = {}

    def get(self, key: str) -> Draft | None:
        entry = self._collection.head(key)
        return None if entry is None else self._decode(entry)

    def list(self, namespace: str = "") -> Iterator[Draft]:
        return map(self._decode, self._collection.current(namespace))

    def _decode(self, entry: Entry) -> Draft:
        known = self._known.get(entry.key)
        if known is None or known[0] != entry.rv:
            known = (entry.rv, entry.decode())
            self._known[entry.key] = known
        return known[1]


class Rbac:
    """Authorizes by the stored roles and bindings."""

    def __init__(self, core: Core) -> None:
        self._cluster_roles = _Decoded(core.store.collection(f"clusterroles.{GROUP}"))
        self._roles = _Decoded(core.store.collection(f"roles.{GROUP}"))
        self._cluster_bindings = _Decoded(core.store.collection(f"clusterrolebindings.{GROUP}"))
        self._bindings = _Decoded(core.store.collection(f"rolebindings.{GROUP}"))

    def decide(self, user: User, access: AccessAttributes) -> Decision:
        """Decide about one access; the group system:masters may do everything."""
        if MASTERS in user.groups:
            return Decision(True)
        missing: list[str] = []
        for grant in self.grants(user, access.namespace, missing):
            if rule_allows(grant.rule, access):
                return Decision(True, grant.reason)
        if missing:
            listed = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
            return Decision(False, f"RBAC: {listed}")
        return Decision(False)

    def grants(
        self, user: User, namespace: str, missing: list[str] | None = None
    ) -> Iterator[GrantedRule]:
        """Yield the rules of a user, those of the cluster and those of a namespace."""
        for binding in self._cluster_bindings.list():
            yield from self._granted(binding, user, "", missing)
        if namespace:
            for binding in self._bindings.list(namespace):
                yield from self._granted(binding, user, namespace, missing)

    def _granted(
        self, binding: Draft, user: User, namespace: str, missing: list[str] | None
    ) -> Iterator[GrantedRule]:
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
            yield GrantedRule(rule, reason)

    def rules_of(self, reference: Raw, namespace: str) -> list[Rule] | None:
        """Return the rules of a role, with aggregated ones; None if the role does not exist."""
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

    def _aggregated(self, role: Draft, role_selectors: Iterable[Raw]) -> list[Rule]:
        """Return the rules of all selected roles, which may aggregate in turn.

        They are not written into the aggregating role, as in a cluster without the aggregation
        controller.
        """
        rules: list[Rule] = []
        wanted = [selectors.from_object(selector) for selector in role_selectors]
        for other in self._cluster_roles.list():
            labels = other["metadata"].get("labels")
            if other is role or not any(selector.matches(labels) for selector in wanted):
                continue
            nested = other.get("aggregationRule")
            inner = (nested or {}).get("clusterRoleSelectors") or ()
            more = self._aggregated(other, inner) if nested else other.get("rules") or ()
            rules += [rule for rule in more if rule not in rules]
        return rules


def _subject(binding: Draft, user: User, namespace: str) -> str | None:
    """Return the subject of a binding that matches a user; None if none does."""
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
