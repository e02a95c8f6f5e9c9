"""Every policy, in the order in which they run."""

from typing import Final

from webhook.admission.decision import Policy

POLICIES: Final[tuple[Policy, ...]] = ()
