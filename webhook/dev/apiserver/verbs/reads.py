"""GET of one object, and lists with selectors, paging and resource versions."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import gojson
from webhook.dev.apiserver.endpoints.calls import META_GROUP, Call
from webhook.dev.apiserver.storage.collection import Collection, ExpiredError
from webhook.dev.apiserver.storage.entries import Entry, key_of
from webhook.dev.apiserver.storage.fieldselectors import field_label_converter
from webhook.kube import fielderrors, selectors, status
from webhook.kube.meta import Draft
from webhook.kube.requirements import SelectorError
from webhook.kube.selectors import FieldSelector, LabelSelector
from webhook.kube.status import Qualified

EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"
_TOKEN_VERSION: Final = "meta.k8s.io/v1"  # noqa: S105
_EXPIRED_CONTINUE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
_EXPIRED_LIST: Final = "The resourceVersion for the provided list is too old."


class InvalidResourceVersionError(ValueError):
    """A resourceVersion that is not a number."""


class Selection(NamedTuple):
    """The namespace and the selectors of a list or watch."""

    namespace: str
    labels: LabelSelector
    fields: FieldSelector

    def matches(self, entry: Entry) -> bool:
        """Return whether the selectors match an object, whatever its namespace."""
        return self.labels.matches(entry.labels) and self.fields.matches(entry.fields)

    @property
    def is_everything(self) -> bool:
        return self.labels.is_everything and not self.fields.terms


class Page(NamedTuple):
    """A list, or one page of it."""

    entries: list[Entry]
    rv: int
    token: str = ""
    remaining: int | None = None


def selection_of(call: Call) -> Selection:
    """Parse the selectors of a request."""
    try:
        labels = selectors.parse_labels(call.query.get("labelSelector", ""))
        fields = selectors.parse_fields(
            call.query.get("fieldSelector", ""), field_label_converter(call.resource)
        )
    except SelectorError as error:
        raise status.bad_request(str(error)) from error
    return Selection(call.namespace, labels, fields)


def get(core: Core, call: Call) -> Entry:
    """Return the object of the call; raise a 404 if there is none."""
    entry = core.collection(call.resource).entries.get(call.key)
    if entry is None:
        raise status.not_found(call.resource.qualified, call.info.name)
    wanted = call.query.get("resourceVersion", "")
    if wanted not in ("", "0"):
        check_not_too_large(_list_version(wanted), core.store.rv)
    return entry


def parse_resource_version(text: str) -> int:
    """Parse a resourceVersion."""
    if not text.isdigit() or int(text) >= 2**64:
        raise InvalidResourceVersionError(
            str(fielderrors.invalid("resourceVersion", text, _version_problem(text)))
        )
    return int(text)


def _list_version(text: str) -> int:
    try:
        return parse_resource_version(text)
    except InvalidResourceVersionError as error:
        raise status.bad_request(f"invalid resource version: {error}") from error


def _version_problem(text: str) -> str:
    problem = "value out of range" if text.isdigit() else "invalid syntax"
    return f'strconv.ParseUint: parsing "{text}": {problem}'


def check_not_too_large(wanted: int, current: int) -> None:
    """Raise an error if a requested resourceVersion is not reached yet."""
    if wanted > current:
        raise status.resource_version_too_large(wanted, current)


def list_page(core: Core, call: Call) -> Page:
    """Return a list: all objects, a page, or the state at a resourceVersion."""
    _check_list_options(call)
    selection = selection_of(call)
    collection = core.collection(call.resource)
    limit = _limit(call)
    token = call.query.get("continue", "")
    wanted = call.query.get("resourceVersion", "")
    if token:
        rv, start = _decode_token(token, wanted)
        after = key_of(selection.namespace, start)
        try:
            return _page(collection, selection, limit, rv if rv > 0 else core.store.rv, after)
        except ExpiredError as error:
            raise _expired_continue(start) from error
    if wanted and wanted != "0":
        version = _list_version(wanted)
        check_not_too_large(version, core.store.rv)
        if call.query.get("resourceVersionMatch") == EXACT:
            try:
                return _page(collection, selection, limit, version, "")
            except ExpiredError as error:
                raise status.expired(_EXPIRED_LIST) from error
    return _page(collection, selection, limit, core.store.rv, "")


def _page(collection: Collection, selection: Selection, limit: int, rv: int, after: str) -> Page:
    matching = _matching(collection.list_at(rv, selection.namespace, after), selection)
    if not limit:
        return Page(list(matching), rv)
    entries: list[Entry] = []
    for entry in matching:
        if len(entries) == limit:
            start = entries[-1].key
            remaining = 1 + sum(1 for _ in matching) if selection.is_everything else None
            return Page(entries, rv, _encode_token(rv, start, selection.namespace), remaining)
        entries.append(entry)
    return Page(entries, rv)


def _matching(entries: Iterator[Entry], selection: Selection) -> Iterator[Entry]:
    if selection.is_everything:
        return entries
    return filter(selection.matches, entries)


def _limit(call: Call) -> int:
    text = call.query.get("limit", "")
    try:
        return max(int(text or 0), 0)
    except ValueError as error:
        problem = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise status.bad_request(problem) from error


def _check_list_options(call: Call) -> None:
    query = call.query
    match = query.get("resourceVersionMatch", "")
    path = "resourceVersionMatch"
    errors = []
    if match:
        if not query.get("resourceVersion"):
            detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            errors.append(fielderrors.forbidden(path, detail))
        if query.get("continue"):
            detail = "resourceVersionMatch is forbidden when continue is provided"
            errors.append(fielderrors.forbidden(path, detail))
        if match not in (EXACT, NOT_OLDER):
            errors.append(fielderrors.not_supported(path, match, [EXACT, NOT_OLDER, ""]))
        if match == EXACT and query.get("resourceVersion") == "0":
            detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.append(fielderrors.forbidden(path, detail))
    if "sendInitialEvents" in query:
        detail = "sendInitialEvents is forbidden for list"
        errors.append(fielderrors.forbidden("sendInitialEvents", detail))
    if errors:
        raise status.invalid(Qualified(META_GROUP, "ListOptions"), "", errors)


def _encode_token(rv: int, last: str, namespace: str) -> str:
    prefix = f"{namespace}/" if namespace else ""
    start = last.removeprefix(prefix) + "\0"
    data = orjson.dumps({"v": _TOKEN_VERSION, "rv": rv, "start": start})
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode_token(token: str, wanted: str) -> tuple[int, str]:
    data = _token_data(token)
    version, rv, start = data.get("v"), data.get("rv"), data.get("start")
    if version != _TOKEN_VERSION or not isinstance(rv, int) or not isinstance(start, str):
        raise _bad_token("server does not recognize this encoded version")
    if wanted not in ("", "0"):
        raise status.bad_request("specifying resource version is not allowed when using continue")
    return rv, start


def _token_data(token: str) -> Draft:
    try:
        decoded = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _bad_token(f"illegal base64 data at input byte {len(token) // 4 * 4}") from error
    try:
        data = orjson.loads(decoded)
    except orjson.JSONDecodeError as error:
        raise _bad_token(gojson.syntax_error(decoded) or str(error)) from error
    if not isinstance(data, dict):
        raise _bad_token("server does not recognize this encoded version")
    return data


def _bad_token(problem: str) -> status.StatusError:
    return status.bad_request(f"invalid continue token: continue key is not valid: {problem}")


def _expired_continue(start: str) -> status.StatusError:
    error = status.expired(_EXPIRED_CONTINUE)
    data = orjson.dumps({"v": _TOKEN_VERSION, "rv": -1, "start": start})
    token = base64.urlsafe_b64encode(data).decode().rstrip("=")
    error.status["metadata"] = {"continue": token}
    return error
