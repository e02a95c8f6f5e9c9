"""Uninstalling removes one of each mark, also if it is killed after any write and run again."""

from typing import Any

import pytest

from tests.support.clocks import FakeClock
from tests.support.crashes import CrashError
from tests.support.fake_cluster import FakeCluster
from webhook.api import names
from webhook.api.kinds import KINDS, kind_of_model
from webhook.api.marks import MARKS, VISIBLE, Mark, marked_models
from webhook.api.seeds import Seed
from webhook.cli.install.uninstall.cleanup import Cleaner
from webhook.cluster.discovery import InstalledApis
from webhook.kube.meta import Draft, Object, ObjectKey

FIELDS = {"label": "labels", "annotation": "annotations", "finalizer": "finalizers"}
VALUES = {names.SCALING_NOTE: "{}", names.SCALE_IN: "hidden"}


def write(raw: Draft, mark: Mark) -> None:
    """Write a mark as Espalier does."""
    metadata, spec = raw["metadata"], raw.setdefault("spec", {})
    recorded = metadata["managedFields"][0]["fieldsV1"]["f:metadata"]
    match mark.place:
        case "taint":
            spec["taints"] = [{"key": "theirs"}, {"key": mark.name}]
        case "field":
            assert mark.name == VISIBLE
            spec["settings"] = {"scheduling": {"visible": False}}
        case "finalizer":
            metadata.setdefault("finalizers", ["theirs/finalizer"]).append(mark.name)
            recorded.setdefault("f:finalizers", {})[f'v:"{mark.name}"'] = {}
        case place:
            metadata.setdefault(FIELDS[place], {"theirs": "x"})[mark.name] = VALUES.get(
                mark.name, "x"
            )
            recorded.setdefault(f"f:{FIELDS[place]}", {})[f"f:{mark.name}"] = {}


def marked(model: type[Object]) -> Draft:
    """Return an object of a kind with all its marks, and one of somebody else's."""
    namespace = {"namespace": "garden"} if kind_of_model(model).namespaced else {}
    managed = [{"manager": "espalier", "fieldsV1": {"f:metadata": {}}}]
    raw: Draft = {"metadata": {"name": "leaf", **namespace, "managedFields": managed}}
    for mark in MARKS:
        if model in mark.models:
            write(raw, mark)
    return raw


def left(raw: Draft) -> list[str]:
    """Return the marks that an object still has."""
    metadata, spec = raw["metadata"], raw["spec"]
    found = [name for field in FIELDS.values() for name in metadata.get(field) or ()]
    found += [taint["key"] for taint in spec.get("taints") or ()]
    if (spec.get("settings") or {}).get("scheduling", {}).get("visible") is False:
        found.append(VISIBLE)
    return [name for name in found if not name.startswith("theirs")]


class Leaving(FakeCluster):
    """A cluster with an object of each kind, whose uninstallation is killed after some writes."""

    def __init__(self, writes: int = 1000) -> None:
        super().__init__(FakeClock(), *marked_models())
        self.writes = writes
        for model in marked_models():
            self.put(kind_of_model(model), marked(model))
        self.before_write = self._count

    def _count(self) -> None:
        self.writes -= 1
        if self.writes < 0:
            self.writes = 1000
            raise CrashError

    async def clean(self) -> None:
        definitions: Any = {
            kind.resource: {"spec": {"versions": [{"name": kind.version, "served": True}]}}
            for kind in KINDS
        }
        apis = InstalledApis(definitions=definitions, aggregated=frozenset())
        cleaner = Cleaner(self, apis, lambda _line: None)  # type: ignore[arg-type]
        assert await cleaner.restore() == []
        assert await cleaner.clean() == []

    def marks_left(self) -> dict[str, list[str]]:
        found = {model.__name__: left(body) for (model, _), body in self.objects.items()}
        return {name: marks for name, marks in found.items() if marks}


async def test_one_of_each_mark_is_removed_and_what_others_wrote_stays() -> None:
    cluster = Leaving()
    assert {*cluster.marks_left()} == {model.__name__ for model in marked_models()}
    await cluster.clean()
    assert cluster.marks_left() == {}
    seed = cluster.objects[Seed, ObjectKey("", "leaf")]
    assert seed["spec"]["taints"] == [{"key": "theirs"}]
    assert seed["spec"]["settings"] == {"scheduling": {"visible": True}}
    assert seed["metadata"]["finalizers"] == ["theirs/finalizer"]
    assert seed["metadata"]["annotations"] == {"theirs": "x"}


async def test_an_uninstallation_that_is_killed_after_any_write_goes_on() -> None:
    cluster, after = Leaving(), 0
    await cluster.clean()
    writes = len(cluster.calls)
    for after in range(writes):
        cluster = Leaving(after)
        with pytest.raises(CrashError):
            await cluster.clean()
        assert cluster.marks_left() != {}
        await cluster.clean()
        assert cluster.marks_left() == {}, f"killed after write {after}"
    assert after > len(marked_models()) / 2


async def test_a_seed_that_a_user_has_hidden_stays_hidden() -> None:
    cluster = Leaving()
    hidden = {"settings": {"scheduling": {"visible": False}}}
    cluster.put(kind_of_model(Seed), {"metadata": {"name": "theirs"}, "spec": hidden})
    await cluster.clean()
    assert cluster.objects[Seed, ObjectKey("", "theirs")]["spec"] == hidden
