"""The controller of region ConfigMaps."""

from typing import Final

from webhook.api.core import ConfigMap
from webhook.controllers.regionconfig.plan import plan
from webhook.runtime.controller import Controller

REGION_CONFIG: Final = Controller("regions", ConfigMap, plan)
