"""Simulates gardenlets that install extensions, beside a real Gardener.

Gardener's controller-manager creates a ControllerInstallation for every extension that a seed
needs. The seed becomes ready only after gardenlets have reported all of them as installed.
"""

from typing import Final

import msgspec

from webhook.api.kinds import kind_of_model
from webhook.api.registrations import ControllerInstallation
from webhook.dev.localprovider.simulation import MARK, REASON
from webhook.kube import conditions
from webhook.kube.meta import Draft
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.snapshot import Snapshot

INSTALLED_CONDITIONS: Final = {
    "Valid": conditions.TRUE,
    "Installed": conditions.TRUE,
    "Healthy": conditions.TRUE,
    "Progressing": conditions.FALSE,
}
"""The conditions that a gardenlet sets for an extension that runs."""

_INSTALLATION: Final = kind_of_model(ControllerInstallation)


def plan_installation(installation: ControllerInstallation, snapshot: Snapshot) -> Plan:
    """Report an extension as installed; conditions that exist stay as they are."""
    present = installation.status.conditions
    missing = [name for name in INSTALLED_CONDITIONS if conditions.get(present, name) is None]
    if installation.is_deleting or not missing:
        return NOTHING
    updated: list[Draft] = [msgspec.to_builtins(each) for each in present]
    for name in missing:
        conditions.set(
            updated,
            name,
            INSTALLED_CONDITIONS[name],
            reason=REASON,
            message=MARK,
            now=snapshot.taken_at,
        )
    change = {"status": {"conditions": updated}}
    key, uid = installation.key, installation.uid
    version = installation.resource_version
    return Plan((Patch(_INSTALLATION, key, change, uid, version, subresource="status"),))
