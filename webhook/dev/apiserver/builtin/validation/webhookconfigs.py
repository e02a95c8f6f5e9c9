"""Validation of MutatingWebhookConfigurations and ValidatingWebhookConfigurations."""

import urllib.parse
from collections.abc import Sequence
from typing import Any, Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.dev.apiserver.cel import matchconditions
from webhook.dev.apiserver.cel.compiler import BadExpressionError
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_MAX_CONDITIONS: Final = 64
_URL_FORM: Final = "desired format: https://host[/path]"


def validate_validating_webhooks(obj: Raw) -> Errors:
    """Validate a ValidatingWebhookConfiguration."""
    yield from _configuration(obj, mutating=False)


def validate_mutating_webhooks(obj: Raw) -> Errors:
    """Validate a MutatingWebhookConfiguration."""
    yield from _configuration(obj, mutating=True)


def _configuration(obj: Raw, *, mutating: bool) -> Errors:
    names: set[str] = set()
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        yield from _webhook(path, webhook, mutating)
        yield from validate_review_versions(
            f"{path}.admissionReviewVersions",
            webhook.get("admissionReviewVersions") or [],
            "must specify one of v1, v1beta1",
        )
        name = webhook.get("name", "")
        if name and name in names:
            yield fielderrors.duplicate(f"{path}.name", name)
        names.add(name)


def _webhook(path: str, webhook: Raw, mutating: bool) -> Errors:
    yield from _name(f"{path}.name", webhook.get("name", ""))
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from _rule(f"{path}.rules[{index}]", rule)
    yield from checks.one_of(
        f"{path}.failurePolicy", webhook.get("failurePolicy"), ("Fail", "Ignore")
    )
    yield from checks.one_of(
        f"{path}.matchPolicy", webhook.get("matchPolicy"), ("Equivalent", "Exact")
    )
    yield from _side_effects(f"{path}.sideEffects", webhook.get("sideEffects"))
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield fielderrors.invalid(f"{path}.timeoutSeconds", timeout, detail)
    for name in ("namespaceSelector", "objectSelector"):
        yield from checks.label_selector(f"{path}.{name}", webhook.get(name))
    yield from validate_client(f"{path}.clientConfig", webhook.get("clientConfig") or {})
    if mutating:
        policy = webhook.get("reinvocationPolicy")
        yield from checks.one_of(f"{path}.reinvocationPolicy", policy, ("IfNeeded", "Never"))
    yield from _conditions(f"{path}.matchConditions", webhook.get("matchConditions") or ())


def _name(path: str, name: str) -> Errors:
    if not name:
        yield fielderrors.required(path)
        return
    problems = identifiers.subdomain_errors(name)
    yield from checks.invalid_each(path, name, problems)
    if not problems and name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        yield fielderrors.invalid(path, name, detail)


def _side_effects(path: str, value: Any) -> Errors:
    if value is None:
        yield fielderrors.required(path, "must specify one of None, NoneOnDryRun")
    else:
        yield from checks.one_of(path, value, ("None", "NoneOnDryRun"))


def validate_review_versions(where: str, versions: Sequence[str], missing: str) -> Errors:
    """Validate the versions of reviews that a webhook accepts; `missing` is the error for none."""
    if not versions:
        yield fielderrors.required(where, missing)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield fielderrors.invalid(f"{where}[{index}]", version, "duplicate version")
        seen.add(version)
        problems = identifiers.dns1035_label_errors(version)
        yield from checks.invalid_each(f"{where}[{index}]", version, problems)
    if not seen & set(_REVIEW_VERSIONS):
        detail = "must include at least one of v1, v1beta1"
        yield fielderrors.invalid(where, list(versions), detail)


def _rule(path: str, rule: Raw) -> Errors:
    operations = rule.get("operations") or []
    yield from checks.required(f"{path}.operations", operations)
    yield from _wildcard(f"{path}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        yield from checks.one_of(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for name, plural in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        found = rule.get(name) or []
        yield from checks.required(f"{path}.{name}", found)
        yield from _wildcard(f"{path}.{name}", found, plural)
        if name == "apiVersions":
            for index, version in enumerate(found):
                yield from checks.required(f"{path}.{name}[{index}]", version)
    resources = rule.get("resources") or []
    yield from checks.required(f"{path}.resources", resources)
    yield from _resources(f"{path}.resources", resources)
    scope = rule.get("scope")
    if scope is not None:
        yield from checks.one_of(f"{path}.scope", scope, ("*", "Cluster", "Namespaced"))


def _wildcard(path: str, found: list[str], plural: str) -> Errors:
    if "*" in found and len(found) > 1:
        detail = f"if '*' is present, must not specify other {plural}"
        yield fielderrors.invalid(path, found, detail)


def _resources(path: str, resources: list[str]) -> Errors:
    bare = [resource for resource in resources if "/" not in resource]
    for index, resource in enumerate(resources):
        where = f"{path}[{index}]"
        if not resource:
            yield fielderrors.required(where)
            continue
        name, _, part = resource.partition("/")
        for cover in (f"{name}/*", f"*/{part}"):
            if part and cover in resources and resource not in (cover, "*/*"):
                detail = f"if '{cover}' is present, must not specify {resource}"
                yield fielderrors.invalid(where, resource, detail)
    if "*/*" in resources and len(resources) > 1:
        detail = "if '*/*' is present, must not specify other resources"
        yield fielderrors.invalid(path, resources, detail)
    if "*" in resources and len(bare) > 1:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield fielderrors.invalid(path, resources, detail)


def validate_client(path: str, client: Raw) -> Errors:
    """Validate the address of a webhook."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield fielderrors.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(f"{path}.url", url)
    else:
        yield from _service(f"{path}.service", service or {})


def _url(path: str, url: str) -> Errors:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme; {_URL_FORM}"
        yield fielderrors.invalid(path, parts.scheme, detail)
    host = parts.netloc.rpartition("@")[2]
    if not host:
        yield fielderrors.invalid(path, host, f"host must be specified; {_URL_FORM}")
    user = parts.netloc.rpartition("@")[0]
    for value, what in (
        (user, "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ):
        if value:
            yield fielderrors.invalid(path, value, f"{what} not permitted in the URL")


def _service(path: str, service: Raw) -> Errors:
    yield from checks.required(f"{path}.name", service.get("name"))
    yield from checks.required(f"{path}.namespace", service.get("namespace"))
    port = service.get("port")
    if not isinstance(port, int) or not 1 <= port <= 65535:
        detail = f"port is not valid: {checks.PORT_RANGE}"
        yield fielderrors.invalid(f"{path}.port", port, detail)
    url_path = service.get("path")
    if url_path is None or url_path == "/":
        return
    if not url_path.startswith("/"):
        yield fielderrors.invalid(f"{path}.path", url_path, "must start with a '/'")
    for index, segment in enumerate(url_path.removesuffix("/")[1:].split("/")):
        if not segment:
            detail = f"segment[{index}] may not be empty"
            yield fielderrors.invalid(f"{path}.path", url_path, detail)


def _conditions(path: str, found: Sequence[Raw]) -> Errors:
    if len(found) > _MAX_CONDITIONS:
        yield fielderrors.too_many(path, len(found), _MAX_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(found):
        where = f"{path}[{index}]"
        yield from _expression(f"{where}.expression", condition.get("expression", "").strip())
        name = condition.get("name", "")
        if not name:
            yield fielderrors.required(f"{where}.name")
            continue
        yield from checks.invalid_each(f"{where}.name", name, identifiers.label_key_errors(name))
        if name in names:
            yield fielderrors.duplicate(f"{where}.name", name)
        names.add(name)


def _expression(path: str, expression: str) -> Errors:
    if not expression:
        yield fielderrors.required(path)
        return
    try:
        matchconditions.compile_condition(expression)
    except BadExpressionError as error:
        yield fielderrors.invalid(path, expression, str(error))
