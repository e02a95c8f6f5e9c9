"""Labels with the names of the seeds that an object belongs to."""

from collections.abc import Iterable

from webhook.admission import drafts
from webhook.api import names
from webhook.kube.meta import Draft


def set_seed_labels(draft: Draft, seeds: Iterable[str]) -> None:
    """Set a label for each of these seeds, and remove those of other seeds."""
    wanted = {f"{names.SEED_NAME_PREFIX}{seed}" for seed in seeds}
    metadata = drafts.section(draft, "metadata")
    labels = metadata.get("labels") or {}
    stale = [key for key in labels if key.startswith(names.SEED_NAME_PREFIX) and key not in wanted]
    missing = [key for key in sorted(wanted) if labels.get(key) != "true"]
    if stale or missing:
        kept = {key: value for key, value in labels.items() if key not in stale}
        metadata["labels"] = kept | dict.fromkeys(missing, "true")
