"""Reviews of identity and access, which are answered on create and never stored."""

from collections.abc import Callable
from typing import Final

from webhook.dev.apiserver.auth.impersonation import AUTHENTICATED
from webhook.dev.apiserver.auth.rbac import AccessAttributes, Decision, Rbac
from webhook.dev.apiserver.auth.tokens import ISSUER, InvalidTokenError, Signer
from webhook.dev.apiserver.builtin.reader import Reader
from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import Call, User
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.kube import fielderrors, gotext, status
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

_ACCESS: Final = Qualified("authorization.k8s.io", "")
_PATH: Final = {"path": "Path", "verb": "Verb"}


class ReviewHandler:
    """Fills in the status of TokenReviews, SubjectAccessReviews and their relatives."""

    def __init__(self, core: Core, rbac: Rbac, signer: Signer) -> None:
        self._core = core
        self._rbac = rbac
        self._signer = signer
        self._reader: Reader = StoreReader(core)
        self._handlers: dict[str, Callable[[Call, Draft], None]] = {
            "SelfSubjectReview": self._self_subject,
            "TokenReview": self._token,
            "SelfSubjectAccessReview": self._own_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
        }

    def fill_status(self, call: Call, obj: Draft) -> None:
        """Fill in the status of a review of any kind."""
        self._handlers[call.resource.kind](call, obj)

    def _self_subject(self, call: Call, obj: Draft) -> None:
        obj["metadata"] = {"creationTimestamp": objectmeta.timestamp(self._core.now())}
        obj["status"] = {"userInfo": user_info(call.user)}

    def _token(self, call: Call, obj: Draft) -> None:
        del call
        spec = obj.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise status.bad_request("token is required for TokenReview in authentication")
        audiences = spec.get("audiences") or (ISSUER,)
        now = int(self._core.now().timestamp())
        try:
            verified = self._signer.verify(token, audiences, self._reader, now)
        except InvalidTokenError as error:
            obj["status"] = {"user": {}, "error": str(error)}
            return
        user = verified.user
        known = User(user.name, (*user.groups, AUTHENTICATED), user.uid, user.extra)
        obj["status"] = {
            "authenticated": True,
            "user": user_info(known),
            "audiences": list(verified.audiences),
        }

    def _own_access(self, call: Call, obj: Draft) -> None:
        spec = obj.get("spec") or {}
        _check(_attribute_errors(spec))
        obj["status"] = _decision_status(self._rbac.decide(call.user, _access_of(spec)))

    def _access(self, call: Call, obj: Draft) -> None:
        del call
        spec = obj.get("spec") or {}
        _check([*_attribute_errors(spec), *_subject_errors(spec)])
        obj["status"] = _decision_status(self._rbac.decide(_subject_of(spec), _access_of(spec)))

    def _local_access(self, call: Call, obj: Draft) -> None:
        spec = obj.get("spec") or {}
        errors = [*_attribute_errors(spec), *_subject_errors(spec)]
        namespace = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if not errors and namespace != call.namespace:
            path = "spec.resourceAttributes.namespace"
            errors.append(fielderrors.invalid(path, namespace, "must match metadata.namespace"))
        _check(errors)
        obj["status"] = _decision_status(self._rbac.decide(_subject_of(spec), _access_of(spec)))

    def _rules(self, call: Call, obj: Draft) -> None:
        namespace = (obj.get("spec") or {}).get("namespace", "")
        if not namespace:
            raise status.bad_request("no namespace on request")
        resources: list[Draft] = []
        paths: list[Draft] = []
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


def user_info(user: User) -> Draft:
    """Return a user as a UserInfo object."""
    info: Draft = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _decision_status(decision: Decision) -> Draft:
    result: Draft = {"allowed": decision.allowed}
    if decision.reason:
        result["reason"] = decision.reason
    return result


def _access_of(spec: Draft) -> AccessAttributes:
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        path = spec.get("nonResourceAttributes") or {}
        return AccessAttributes(path.get("verb", ""), path=path.get("path", ""))
    return AccessAttributes(
        attributes.get("verb", ""),
        attributes.get("group", ""),
        attributes.get("resource", ""),
        attributes.get("subresource", ""),
        attributes.get("namespace", ""),
        attributes.get("name", ""),
    )


def _subject_of(spec: Draft) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _attribute_errors(spec: Draft) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = checks.go_struct({"verb": "", "path": "", **path}, _PATH)
        detail = "cannot be specified in combination with resourceAttributes"
        return [fielderrors.invalid("spec.nonResourceAttributes", shown, detail)]
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [fielderrors.invalid("spec.resourceAttributes", None, detail)]
    return []


def _subject_errors(spec: Draft) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    detail = "at least one of user or group must be specified"
    return [fielderrors.invalid("spec.user", "", detail)]


def _check(errors: list[FieldError]) -> None:
    if not errors:
        return
    # Kubernetes omits the kind in this message.
    error = status.invalid(_ACCESS, "", errors)
    shown = fielderrors.aggregate(errors)
    error.status["message"] = f".{_ACCESS.group} {gotext.quote('')} is invalid: {shown}"
    raise error
