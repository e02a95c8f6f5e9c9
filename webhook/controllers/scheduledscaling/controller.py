"""The controllers of scheduled scaling."""

from typing import Final

from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler, Namespace
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.controllers.scheduledscaling import floors, mapping, status
from webhook.runtime.backoff import Delays
from webhook.runtime.controller import Controller, Watch
from webhook.state.indexes import RAISED_AUTOSCALERS, RAISED_TORTOISES, SCALINGS_BY_PHASE

FIRST: Final = "scaling.autoscaler"
"""The controller that the others wait for at an edge: replicas take the longest to start, and many
windows open in the same second."""
RETRIES: Final = Delays(first=0.2, limit=5.0, jitter=0.0)
"""How soon a write is repeated that is refused or has no effect: Tortoise's own webhooks fail
closed and may change what we write."""

SCHEDULED_SCALING_FLOORS: Final = (
    Controller(
        FIRST,
        HorizontalPodAutoscaler,
        floors.plan_autoscaler,
        (
            Watch(ScheduledScaling, mapping.autoscalers_of_scaling),
            Watch(Tortoise, mapping.autoscalers_of_tortoise),
        ),
        workers=32,
        delays=RETRIES,
    ),
    Controller(
        "scaling.tortoise",
        Tortoise,
        floors.plan_tortoise,
        (
            Watch(ScheduledScaling, mapping.tortoise_of_scaling),
            Watch(HorizontalPodAutoscaler, mapping.tortoise_of_autoscaler),
        ),
        reads=(CustomResourceDefinition,),
        workers=4,
        delays=RETRIES,
        after=FIRST,
    ),
    Controller(
        "scaling.namespace",
        Namespace,
        floors.plan_namespace,
        (
            Watch(ScheduledScaling, mapping.namespace_by(SCALINGS_BY_PHASE)),
            Watch(Tortoise, mapping.namespace_by(RAISED_TORTOISES)),
            Watch(HorizontalPodAutoscaler, mapping.namespace_by(RAISED_AUTOSCALERS)),
        ),
    ),
)
"""Apply floors to autoscalers, Tortoises and namespaces."""

SCHEDULED_SCALING_STATUS: Final = Controller(
    "scaling.status",
    ScheduledScaling,
    status.plan,
    (
        Watch(Tortoise, mapping.scalings_of_tortoise),
        Watch(HorizontalPodAutoscaler, mapping.scalings_of_autoscaler),
    ),
    reads=(Namespace, CustomResourceDefinition),
    workers=4,
    after=FIRST,
)
