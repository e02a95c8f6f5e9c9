"""The webhook configurations that the leader will create, for review or for other tools."""

from dataclasses import replace

from webhook.admission.webhook_configurations import WebhookTarget, configurations
from webhook.cli.install.generate import workload
from webhook.cli.install.layout import NAME, Layout
from webhook.kube.meta import Draft, ObjectKey


def preview(layout: Layout) -> list[Draft]:
    """Generate the configurations for the settings of the installation, without a caBundle."""
    options = replace(
        layout.options,
        features=layout.features,
        beside_gardener=layout.beside_gardener,
        namespace=layout.namespace,
        garden_namespace=layout.garden_namespace,
    )
    return configurations(_target(layout), options)


def _target(layout: Layout) -> WebhookTarget:
    """Target the Service if the pods run in the same cluster, else a URL."""
    chosen = layout.advertise_url or layout.webhook_url
    if chosen or layout.part != "all":
        return WebhookTarget(None, url=chosen or workload.service_url(layout))
    return WebhookTarget(ObjectKey(layout.namespace, NAME))
