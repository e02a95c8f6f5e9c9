"""Which shoots need a seed to run their control plane, and do not have one yet."""

from webhook.api.shoots import Shoot


def is_self_hosted(shoot: Shoot) -> bool:
    """Tell whether a shoot runs its control plane on machines of its own, as a pool of it says."""
    return any(worker.control_plane is not None for worker in shoot.spec.provider.workers)


def waits(shoot: Shoot) -> bool:
    """Tell whether a shoot waits for a seed, whoever is to give it one."""
    return not (shoot.spec.seed_name or shoot.is_deleting or is_self_hosted(shoot))
