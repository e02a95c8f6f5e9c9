"""Whether a shoot still needs a seed for its control plane."""

from webhook.api.shoots import Shoot


def is_self_hosted(shoot: Shoot) -> bool:
    """Return whether a worker pool of the shoot runs its control plane.

    As in Gardener, which refuses to bind such a shoot: no scheduler places it, and it does not
    count as demand for new seeds.
    """
    return any(worker.control_plane is not None for worker in shoot.spec.provider.workers)


def needs_seed(shoot: Shoot) -> bool:
    """Return whether a shoot has to be placed, whichever scheduler is responsible."""
    return not (shoot.spec.seed_name or shoot.is_deleting or is_self_hosted(shoot))
