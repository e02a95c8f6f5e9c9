"""Leaving a cluster that refuses, is silent for a while, or changes under our hands."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.clocks import START
from tests.scripted import Act, Asked, ScriptedServer, answer, fail, page, scripted
from webhook.api import names
from webhook.cli.install.insisting import OUTAGE_SECONDS
from webhook.cli.install.layout import Layout
from webhook.cli.install.uninstall import SIGN_SECONDS, StillNeededError, Uninstall
from webhook.cluster.client import Client
from webhook.controllers.leaving import LOOK_SECONDS
from webhook.tls.material import Material, Profile

CORE = "/apis/core.gardener.cloud/v1beta1"
SHOOTS = f"{CORE}/shoots"
MINE = f"{CORE}/namespaces/garden-dev/shoots"
NAMESPACE = "/api/v1/namespaces/garden"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
AWAY = fail(503, "ServiceUnavailable", "gardener is away")
DONE = answer({})


def make(name: str, namespace: str = "garden-dev", **spec: Any) -> dict[str, Any]:
    """An object with a label of ours on it."""
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {"f:ours": {}}}}
    return {
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "resourceVersion": "1",
            "labels": {"ours": "x"},
            "managedFields": [{"manager": "espalier", "fieldsV1": fields}],
        },
        "spec": spec,
    }


class Leaver:
    """A removal from a scripted garden, what it said, and how long it would have waited."""

    def __init__(self, script: ScriptedServer, client: Client) -> None:
        self.script = script
        self.said: list[str] = []
        self.slept: list[float] = []
        layout = Layout(namespace="garden")
        self._removal = Uninstall(client, layout, self.said.append, self._sleep)
        spec = {"service": {"name": "gardener-apiserver"}}
        service = {"metadata": {"name": "v1beta1.core.gardener.cloud"}, "spec": spec}
        self.script.play("/apis/apiregistration.k8s.io/v1/apiservices", page(service, version="1"))
        self.serves()

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def serves(self, name: str = "", version: str = "") -> None:
        """Let the garden have one definition, or none."""
        versions = [{"name": version, "served": True}]
        definition = {"metadata": {"name": name}, "spec": {"versions": versions}}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.script.scripts.pop(path, None)
        self.script.play(path, page(*[definition] * bool(name), version="1"))

    def has(self, *shoots: dict[str, Any]) -> None:
        """Let the garden have these shoots, when it is asked for consent and when it is swept."""
        self.script.play(SHOOTS, *[page(*shoots, version="1")] * 2)

    async def leave(self, *, force: bool = False) -> list[str]:
        return await self._removal.run(with_definitions=False, force=force)

    def asked(self, method: str, path: str) -> list[Asked]:
        return [each for each in self.script.asked if (each.method, each.path) == (method, path)]


@pytest_asyncio.fixture
async def leaver() -> AsyncIterator[Leaver]:
    async with scripted() as (script, client):
        yield Leaver(script, client)


@pytest.mark.parametrize(
    "acts",
    [
        pytest.param((AWAY, AWAY, AWAY, answer(make("a")), DONE), id="silence, also on a look"),
        pytest.param(
            (fail(409, "Conflict", "changed"), answer(make("a")), DONE), id="a change meanwhile"
        ),
        pytest.param(
            (fail(403, "Forbidden", "not yet"), answer(make("a")), DONE), id="a passing refusal"
        ),
        pytest.param(
            (fail(429, "TooManyRequests", "later"), answer(make("a")), DONE), id="too many requests"
        ),
    ],
)
async def test_what_failed_is_tried_again(leaver: Leaver, acts: tuple[Act, ...]) -> None:
    leaver.has(make("a"))
    leaver.script.play(f"{MINE}/a", *acts)
    assert await leaver.leave() == []
    assert "cleaned shoot/garden-dev/a" in leaver.said


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        pytest.param(fail(422, "Invalid", "spec.x: is wrong"), "spec.x: is wrong", id="invalid"),
        pytest.param(
            fail(403, "Forbidden", "a plugin says no"), "a plugin says no", id="forbidden"
        ),
        pytest.param(AWAY, "gardener is away", id="never available"),
        pytest.param(fail(409, "Conflict", "modified again"), "modified again", id="always busy"),
    ],
)
async def test_what_stays_refused_is_named_and_the_rest_goes_on(
    leaver: Leaver, refusal: Act, told: str
) -> None:
    leaver.has(make("a"), make("b"))
    leaver.script.play(f"{MINE}/a", *[refusal, answer(make("a"))] * 20)
    leaver.script.play(f"{MINE}/b", DONE)
    assert await leaver.leave() == [f"shoot/garden-dev/a: {told}"]
    assert "cleaned shoot/garden-dev/b" in leaver.said
    assert len(leaver.asked("PATCH", f"{MINE}/a")) >= 3


async def test_what_is_gone_when_it_is_looked_at_again_needs_nothing(leaver: Leaver) -> None:
    leaver.has(make("a"), make("b"))
    gone = fail(404, "NotFound", "shoot a not found")
    leaver.script.play(f"{MINE}/a", fail(409, "Conflict", "changed"), gone)
    leaver.script.play(f"{MINE}/b", DONE)
    assert await leaver.leave() == []
    assert "cleaned shoot/garden-dev/b" in leaver.said


async def test_a_list_is_asked_for_again(leaver: Leaver) -> None:
    shoot = make("a")
    leaver.script.play(SHOOTS, page(shoot, version="1"), AWAY, AWAY, page(shoot, version="2"))
    leaver.script.play(f"{MINE}/a", DONE)
    assert await leaver.leave() == []
    assert "cleaned shoot/garden-dev/a" in leaver.said


async def test_a_kind_that_cannot_be_listed_is_named_and_the_others_go_on(leaver: Leaver) -> None:
    leaver.script.play(SHOOTS, page(version="1"), *[AWAY] * 40)
    leaver.script.play("/api/v1/namespaces", page(make("garden-dev", ""), version="1"))
    leaver.script.play("/api/v1/namespaces/garden-dev", DONE)
    assert await leaver.leave() == ["shoots.core.gardener.cloud: gardener is away"]
    assert "cleaned namespace/garden-dev" in leaver.said


async def test_many_objects_of_a_server_that_is_away_do_not_wait_in_turn(leaver: Leaver) -> None:
    shoots = [make(f"s{number}") for number in range(20)]
    leaver.has(*shoots)
    for shoot in shoots:
        leaver.script.play(f"{MINE}/{shoot['metadata']['name']}", *[AWAY] * 40)
    assert len(await leaver.leave()) == len(shoots)
    patience = sum(leaver.slept) - SIGN_SECONDS
    assert patience < 1.5 * OUTAGE_SECONDS


async def test_shoots_that_wait_for_us_stop_it_before_anything_happens(leaver: Leaver) -> None:
    leaver.has(make("a", schedulerName="espalier"))
    with pytest.raises(StillNeededError, match="garden-dev/a"):
        await leaver.leave()
    assert {each.method for each in leaver.script.asked} == {"GET"}


async def test_shoots_that_wait_for_us_are_listed_when_it_goes_on_all_the_same(
    leaver: Leaver,
) -> None:
    leaver.has(make("a", schedulerName="espalier"))
    leaver.script.play(f"{MINE}/a", DONE)
    assert await leaver.leave(force=True) == []
    assert [line for line in leaver.said if "nobody would place" in line and "garden-dev/a" in line]


async def test_a_namespace_of_others_keeps_nothing_of_ours_and_the_sign_goes_last(
    leaver: Leaver,
) -> None:
    material = Material.create(Profile(("host",)), START).encode()
    ours = {name: base64.b64encode(text).decode() for name, text in material.items()}
    theirs = {name: text for name, text in ours.items() if not name.startswith("authority")}
    secrets = [
        {"metadata": {"name": "espalier-tls", "namespace": "garden"}, "data": ours},
        {"metadata": {"name": "espalier-tls-theirs", "namespace": "garden"}, "data": theirs},
    ]
    ledger = {"metadata": {"name": "espalier-ledger-s", "namespace": "garden"}}
    record = {"metadata": {"name": "espalier-pool-p", "namespace": "garden"}}
    lease = "/apis/coordination.k8s.io/v1/namespaces/garden/leases/espalier"
    leaver.has()
    leaver.script.play(NAMESPACE, answer({"metadata": {"name": "garden", "uid": "1"}}))
    lists = (page(ledger, version="1"), page(record, version="1"))
    leaver.script.play(CONFIG_MAPS, answer({}, 201), *lists)
    leaver.script.play(f"{NAMESPACE}/secrets", page(*secrets, version="1"))
    assert await leaver.leave() == []
    deleted = [each.path for each in leaver.script.asked if each.method == "DELETE"]
    assert deleted == [
        f"{CONFIG_MAPS}/espalier-ledger-s",
        f"{CONFIG_MAPS}/espalier-pool-p",
        lease,
        f"{NAMESPACE}/secrets/espalier-tls",
        f"{CONFIG_MAPS}/{names.LEAVING}",
    ]
    selectors = [each.query.get("labelSelector", "") for each in leaver.asked("GET", CONFIG_MAPS)]
    managed = f"{names.MANAGED_BY}=espalier"
    assert selectors == [f"{names.LEDGER_LABEL},{managed}", f"{names.POOL_LABEL},{managed}"]


async def test_the_sign_stays_until_every_server_must_have_seen_it(leaver: Leaver) -> None:
    leaver.has()
    leaver.script.play(NAMESPACE, answer({"metadata": {"name": "garden", "uid": "1"}}))
    leaver.script.play(CONFIG_MAPS, answer({}, 201))
    assert await leaver.leave() == []
    assert sum(leaver.slept) > 2 * LOOK_SECONDS
    assert len(leaver.asked("DELETE", f"{CONFIG_MAPS}/{names.LEAVING}")) == 1


async def test_our_own_namespace_goes_with_all_that_is_in_it(leaver: Leaver) -> None:
    leaver.has()
    metadata = {"name": "garden", "uid": "1", "labels": {names.MANAGED_BY: "espalier"}}
    leaver.script.play(NAMESPACE, *[answer({"metadata": metadata})] * 2, DONE)
    assert await leaver.leave() == []
    deletion = leaver.asked("DELETE", NAMESPACE)
    assert json.loads(deletion[0].body)["propagationPolicy"] == "Foreground"
    assert leaver.asked("DELETE", f"{CONFIG_MAPS}/{names.LEAVING}") == []


@pytest.mark.parametrize("kind", ["machinedeployment", "machineset"])
async def test_notes_that_admission_added_to_the_writes_of_others_go(
    leaver: Leaver, kind: str
) -> None:
    leaver.has()
    machines = "/apis/machine.sapcloud.io/v1alpha1"
    noted = make("m")
    noted["metadata"] |= {
        "labels": {},
        "managedFields": [{"manager": "provider-extension"}],
        "annotations": {names.POOL_MAXIMUM: "3", names.POOL_ZONE_INDEX: "0", names.TOUCHED: "t"},
    }
    leaver.serves(f"{kind}s.machine.sapcloud.io", "v1alpha1")
    leaver.script.play(f"{machines}/{kind}s", page(noted, version="1"))
    path = f"{machines}/namespaces/garden-dev/{kind}s/m"
    leaver.script.play(path, DONE)
    assert await leaver.leave() == []
    (patch,) = leaver.asked("PATCH", path)
    change = json.loads(patch.body)["metadata"]["annotations"]
    assert change == dict.fromkeys(noted["metadata"]["annotations"])
    assert not [line for line in leaver.said if "which Espalier did not write" in line]
