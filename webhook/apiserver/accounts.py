"""Requests for ServiceAccount tokens."""

from datetime import timedelta
from typing import Any, Final

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver import meta
from webhook.apiserver.calls import Call
from webhook.apiserver.core import Core
from webhook.apiserver.lookup import Lookup
from webhook.apiserver.tokens import ISSUER, Purpose, Signer

Object = dict[str, Any]

_REQUEST: Final = Qualified("authentication.k8s.io", "TokenRequest")
_SHORTEST: Final = 600
_LONGEST: Final = 2**32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def issue(core: Core, signer: Signer, call: Call, obj: Object) -> None:
    """Fill in the token that a TokenRequest asks for."""
    reader = Lookup(core)
    name = call.target.name
    account = reader.get("serviceaccounts", call.namespace, name)
    if account is None:
        raise status.not_found(Qualified("", "serviceaccounts"), name)
    spec = obj.setdefault("spec", {})
    seconds = spec.setdefault("expirationSeconds", 3600)
    _check(seconds)
    audiences = spec.get("audiences") or [ISSUER]
    spec["audiences"] = audiences
    kind, bound = _bound(reader, call, spec.get("boundObjectRef"))
    now = core.now()
    expires = now + timedelta(seconds=seconds)
    purpose = Purpose(tuple(audiences), int(expires.timestamp()), kind, bound)
    spec.setdefault("boundObjectRef", None)
    metadata = account["metadata"]
    obj["metadata"] = {
        **(obj.get("metadata") or {}),
        "name": name,
        "namespace": call.namespace,
        "uid": metadata["uid"],
        "creationTimestamp": meta.timestamp(now),
    }
    obj["status"] = {
        "token": signer.issue(account, purpose, int(now.timestamp())),
        "expirationTimestamp": meta.timestamp(expires),
    }


def _check(seconds: int) -> None:
    path = "spec.expirationSeconds"
    detail = ""
    if seconds < _SHORTEST:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        error = fielderrors.invalid(path, seconds, detail)
        raise status.invalid(_REQUEST, "", [error])


def _bound(reader: Lookup, call: Call, reference: Object | None) -> tuple[str, Object]:
    if not reference:
        return "", {}
    kind, version = reference.get("kind", ""), reference.get("apiVersion", "")
    if kind not in _BINDABLE or version != "v1":
        shown = version if "/" in version else f"/{version}"
        raise status.bad_request(f"cannot bind token to object of type {shown}, Kind={kind}")
    storage, name = _BINDABLE[kind], reference.get("name", "")
    found = reader.get(storage, "" if kind == "Node" else call.namespace, name)
    if found is None:
        raise status.not_found(Qualified("", storage), name)
    uid = reference.get("uid")
    if uid and uid != found["metadata"].get("uid"):
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise status.conflict(
            Qualified("", storage),
            name,
            why + "The object might have been deleted and then recreated",
        )
    return kind.lower(), found
