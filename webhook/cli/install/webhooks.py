"""The webhook configurations that the leader will make, to look at or to keep by other means."""

from webhook.admission.configuration import Target, configurations
from webhook.api.meta import Draft, ObjectKey
from webhook.cli.install import workload
from webhook.cli.install.layout import NAME, Layout
from webhook.domain.options import AdmissionOptions, Options


def preview(layout: Layout) -> list[Draft]:
    """Make the configurations as they are with default settings, without a caBundle."""
    options = Options(
        beside_gardener=layout.beside_gardener,
        namespace=layout.namespace,
        admission=AdmissionOptions(garden_namespace=layout.garden_namespace),
    )
    return configurations(_target(layout), options)


def _target(layout: Layout) -> Target:
    """Call through the Service where one cluster holds all, else by URL."""
    if layout.advertise_url or layout.part != "all":
        return Target(None, url=layout.advertise_url or workload.service_url(layout))
    return Target(ObjectKey(layout.namespace, NAME))
