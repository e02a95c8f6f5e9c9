"""Answer questions about identity and access: the kinds that are created but never stored."""

from collections.abc import Callable
from typing import Any, Final

from webhook.api import fielderrors, gotext, status
from webhook.api.fielderrors import FieldError
from webhook.api.status import Qualified
from webhook.apiserver import meta
from webhook.apiserver.builtin.reading import Reader
from webhook.apiserver.builtin.validation import checks
from webhook.apiserver.calls import Call, User
from webhook.apiserver.core import Core
from webhook.apiserver.impersonation import AUTHENTICATED
from webhook.apiserver.lookup import Lookup
from webhook.apiserver.rbac import Access, Decision, Rbac
from webhook.apiserver.tokens import ISSUER, BadTokenError, Signer

Object = dict[str, Any]

_ACCESS: Final = Qualified("authorization.k8s.io", "")
_PATH: Final = {"path": "Path", "verb": "Verb"}


class Reviews:
    """Answers reviews."""

    def __init__(self, core: Core, rbac: Rbac, signer: Signer) -> None:
        self._core = core
        self._rbac = rbac
        self._signer = signer
        self._reader: Reader = Lookup(core)
        self._answers: dict[str, Callable[[Call, Object], None]] = {
            "SelfSubjectReview": self._who,
            "TokenReview": self._token,
            "SelfSubjectAccessReview": self._own_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
        }

    def answer(self, call: Call, obj: Object) -> None:
        """Fill in the status of a review."""
        self._answers[call.resource.kind](call, obj)

    def _who(self, call: Call, obj: Object) -> None:
        obj["metadata"] = {"creationTimestamp": meta.timestamp(self._core.now())}
        obj["status"] = {"userInfo": user_info(call.user)}

    def _token(self, call: Call, obj: Object) -> None:
        del call
        spec = obj.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise status.bad_request("token is required for TokenReview in authentication")
        audiences = spec.get("audiences") or (ISSUER,)
        now = int(self._core.now().timestamp())
        try:
            verified = self._signer.verify(token, audiences, self._reader, now)
        except BadTokenError as error:
            obj["status"] = {"user": {}, "error": str(error)}
            return
        user = verified.user
        known = User(user.name, (*user.groups, AUTHENTICATED), user.uid, user.extra)
        obj["status"] = {
            "authenticated": True,
            "user": user_info(known),
            "audiences": list(verified.audiences),
        }

    def _own_access(self, call: Call, obj: Object) -> None:
        spec = obj.get("spec") or {}
        _check(_attribute_errors(spec))
        obj["status"] = _shown(self._rbac.decide(call.user, _access_of(spec)))

    def _access(self, call: Call, obj: Object) -> None:
        del call
        spec = obj.get("spec") or {}
        _check([*_attribute_errors(spec), *_subject_errors(spec)])
        obj["status"] = _shown(self._rbac.decide(_subject_of(spec), _access_of(spec)))

    def _local_access(self, call: Call, obj: Object) -> None:
        spec = obj.get("spec") or {}
        errors = [*_attribute_errors(spec), *_subject_errors(spec)]
        asked = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if not errors and asked != call.namespace:
            path = "spec.resourceAttributes.namespace"
            errors.append(fielderrors.invalid(path, asked, "must match metadata.namespace"))
        _check(errors)
        obj["status"] = _shown(self._rbac.decide(_subject_of(spec), _access_of(spec)))

    def _rules(self, call: Call, obj: Object) -> None:
        namespace = (obj.get("spec") or {}).get("namespace", "")
        if not namespace:
            raise status.bad_request("no namespace on request")
        resources: list[Object] = []
        paths: list[Object] = []
        for grant in self._rbac.grants(call.user, namespace):
            rule = dict(grant.rule)
            into = paths if rule.get("nonResourceURLs") else resources
            if rule not in into:
                into.append(rule)
        obj["metadata"] = {}
        obj["spec"] = {}
        obj["status"] = {
            "resourceRules": resources,
            "nonResourceRules": paths,
            "incomplete": False,
        }


def user_info(user: User) -> Object:
    """Write a user as reviews do."""
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _shown(decision: Decision) -> Object:
    shown: Object = {"allowed": decision.allowed}
    if decision.reason:
        shown["reason"] = decision.reason
    return shown


def _access_of(spec: Object) -> Access:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec.get("nonResourceAttributes") or {}
        return Access(path.get("verb", ""), path=path.get("path", ""))
    return Access(
        asked.get("verb", ""),
        asked.get("group", ""),
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
    )


def _subject_of(spec: Object) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _attribute_errors(spec: Object) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = checks.go_struct({"verb": "", "path": "", **path}, _PATH)
        detail = "cannot be specified in combination with resourceAttributes"
        return [fielderrors.invalid("spec.nonResourceAttributes", shown, detail)]
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [fielderrors.invalid("spec.resourceAttributes", None, detail)]
    return []


def _subject_errors(spec: Object) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    detail = "at least one of user or group must be specified"
    return [fielderrors.invalid("spec.user", "", detail)]


def _check(errors: list[FieldError]) -> None:
    if not errors:
        return
    # Kubernetes forgets the kind in this one message.
    refusal = status.invalid(_ACCESS, "", errors)
    shown = fielderrors.aggregate(errors)
    refusal.status["message"] = f".{_ACCESS.group} {gotext.quote('')} is invalid: {shown}"
    raise refusal
