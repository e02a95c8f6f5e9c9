"""The Seed that a ManagedSeed applies, and what it keeps of the present one."""

from typing import Any

import pytest

from tests.support.landscape_objects import raw_seed, read
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.controllers.managedseed import seed_manifest

MANAGED_SEED = read(ManagedSeed, {"metadata": {"name": "leaf", "namespace": "garden"}})
WANTED: dict[str, Any] = {"metadata": {"labels": {}, "annotations": {}}, "spec": {}}


def existing(**spec: Any) -> Seed:
    raw = raw_seed("leaf", **spec)
    raw["metadata"]["resourceVersion"] = "7"
    return read(Seed, raw)


@pytest.mark.parametrize(
    ("taints", "version"),
    [
        pytest.param([{"key": names.CORDON_TAINT}], "7", id="a cordon, if nobody removed it since"),
        pytest.param([{"key": "theirs"}], None, id="no other taint, whatever the version"),
    ],
)
def test_what_is_kept_of_a_seed(taints: list[dict[str, str]], version: str | None) -> None:
    body = seed_manifest.apply(MANAGED_SEED, WANTED, existing(taints=taints)).body
    assert body["metadata"].get("resourceVersion") == version
    assert body["spec"].get("taints") == (taints if version else None)
