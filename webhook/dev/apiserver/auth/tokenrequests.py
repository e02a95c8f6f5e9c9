"""TokenRequests, which issue tokens of ServiceAccounts."""

from datetime import timedelta
from typing import Final

from webhook.dev.apiserver.auth.tokens import ISSUER, Signer, TokenSpec
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import Call
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

_REQUEST: Final = Qualified("authentication.k8s.io", "TokenRequest")
_MIN_SECONDS: Final = 600
_MAX_SECONDS: Final = 2**32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def issue(core: Core, signer: Signer, call: Call, obj: Draft) -> None:
    """Fill in the status of a TokenRequest with a new token."""
    reader = StoreReader(core)
    name = call.info.name
    account = reader.get("serviceaccounts", call.namespace, name)
    if account is None:
        raise status.not_found(Qualified("", "serviceaccounts"), name)
    spec = obj.setdefault("spec", {})
    seconds = spec.setdefault("expirationSeconds", 3600)
    _check_expiration(seconds)
    audiences = spec.get("audiences") or [ISSUER]
    spec["audiences"] = audiences
    kind, bound = _bound_object(reader, call, spec.get("boundObjectRef"))
    now = core.now()
    expires = now + timedelta(seconds=seconds)
    purpose = TokenSpec(tuple(audiences), int(expires.timestamp()), kind, bound)
    spec.setdefault("boundObjectRef", None)
    metadata = account["metadata"]
    obj["metadata"] = {
        **(obj.get("metadata") or {}),
        "name": name,
        "namespace": call.namespace,
        "uid": metadata["uid"],
        "creationTimestamp": objectmeta.timestamp(now),
    }
    obj["status"] = {
        "token": signer.issue(account, purpose, int(now.timestamp())),
        "expirationTimestamp": objectmeta.timestamp(expires),
    }


def _check_expiration(seconds: int) -> None:
    path = "spec.expirationSeconds"
    detail = ""
    if seconds < _MIN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
    elif seconds > _MAX_SECONDS:
        detail = "may not specify a duration larger than 2^32 seconds"
    if detail:
        error = fielderrors.invalid(path, seconds, detail)
        raise status.invalid(_REQUEST, "", [error])


def _bound_object(reader: StoreReader, call: Call, reference: Draft | None) -> tuple[str, Draft]:
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
