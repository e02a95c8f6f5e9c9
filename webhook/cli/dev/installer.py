"""The gardenlets that install extensions into their seeds beside a real Gardener, played.

Gardener's controller-manager makes a ControllerInstallation for every extension that a seed needs,
and calls the seed ready for use only once gardenlets have reported all of them installed.
"""

from typing import Final

import msgspec

from webhook.api import conditions
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft
from webhook.api.registrations import ControllerInstallation
from webhook.cli.dev.playing import MARK, REASON
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.snapshot import Snapshot

REPORTS: Final = {
    "Valid": conditions.TRUE,
    "Installed": conditions.TRUE,
    "Healthy": conditions.TRUE,
    "Progressing": conditions.FALSE,
}
"""What a gardenlet reports of an extension that runs."""

_INSTALLATION: Final = kind_of_model(ControllerInstallation)


def plan_installation(installation: ControllerInstallation, snapshot: Snapshot) -> Plan:
    """Report an extension as installed; conditions that are there stay, whoever set them."""
    known = installation.status.conditions
    lacking = [name for name in REPORTS if conditions.get(known, name) is None]
    if installation.is_deleting or not lacking:
        return NOTHING
    told: list[Draft] = [msgspec.to_builtins(each) for each in known]
    for name in lacking:
        conditions.set(
            told, name, REPORTS[name], reason=REASON, message=MARK, now=snapshot.taken_at
        )
    change = {"status": {"conditions": told}}
    key, uid = installation.key, installation.uid
    version = installation.resource_version
    return Plan((Patch(_INSTALLATION, key, change, uid, version, subresource="status"),))
