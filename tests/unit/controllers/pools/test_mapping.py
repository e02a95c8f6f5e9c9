"""The records of pools that are reconciled when a MachineDeployment changes."""

from collections.abc import Sequence

import pytest

from tests.support.pool_objects import record, show, zone
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.controllers.pools.mapping import to_records_of_deployment
from webhook.domain.pools import record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.kube.meta import Draft


def name_of(pool: str) -> str:
    first: Draft = zone(0, 1)
    key = PoolKey(first["metadata"]["namespace"], f"mcm:{names.WORKER_POOL}", pool)
    return record_encoding.name_of(key)


def in_pool(pool: str) -> Draft:
    draft: Draft = zone(0, 1)
    draft["metadata"]["labels"] = {**draft["metadata"]["labels"], names.WORKER_POOL: pool}
    return draft


@pytest.mark.parametrize(
    ("old", "new", "pools"),
    [
        pytest.param(None, in_pool("pool"), ["pool"], id="it is created"),
        pytest.param(in_pool("pool"), in_pool("pool"), ["pool"], id="it changes"),
        pytest.param(in_pool("pool"), None, ["pool"], id="it is the last one and deleted"),
        pytest.param(in_pool("pool"), in_pool("other"), ["other", "pool"], id="it changes pools"),
    ],
)
def test_a_machine_deployment_wakes_the_records_of_its_pools(
    old: Draft | None, new: Draft | None, pools: Sequence[str]
) -> None:
    before, after = (
        convert(MachineDeployment, each) if each is not None else None for each in (old, new)
    )
    snapshot = show(record(), *(each for each in (new,) if each is not None))
    found = {key.name for key in to_records_of_deployment(before, after, snapshot)}
    assert found == {name_of(pool) for pool in pools}
