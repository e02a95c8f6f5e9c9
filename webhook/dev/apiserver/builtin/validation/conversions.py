"""Validation of the conversion of CRDs with several versions."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import checks, webhookconfigs
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.meta import Raw

_DEFAULT_PORT: Final = 443
_CLIENT: Final = "spec.conversion.webhookClientConfig"
_VERSIONS: Final = "spec.conversion.conversionReviewVersions"


def validate_conversion(conversion: Raw) -> Errors:
    """Validate `spec.conversion`; Kubernetes names the fields of an older version."""
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield fielderrors.required("spec.conversion.strategy")
    else:
        yield from checks.one_of("spec.conversion.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        yield from _client_errors(client)
        yield from webhookconfigs.validate_review_versions(_VERSIONS, versions, "")
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield fielderrors.forbidden(_CLIENT, detail)
    if versions:
        yield fielderrors.forbidden(_VERSIONS, detail)


def _client_errors(client: Raw | None) -> Errors:
    if client is None:
        yield fielderrors.required(_CLIENT, "required when strategy is set to Webhook")
        return
    if client.get("service") is not None:
        client = {**client, "service": {"port": _DEFAULT_PORT, **client["service"]}}
    yield from webhookconfigs.validate_client(_CLIENT, client)
