"""Which tests about Gardener's kinds run on a real Gardener, and why the others do not."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

SERVER: Final = "gardener"
"""The name of the third server in the ids of tests."""

COLLECTED: Final[pytest.StashKey[list[pytest.Item]]] = pytest.StashKey()
"""All tests that a run collected, also those that it deselects."""

EXCEPTIONS: Final[Mapping[str, str]] = {
    "test_admission": "beside a Gardener only the closed list of docs/gardener.md is registered,"
    " the rest is refused by Gardener itself: test_beside_gardener and the comparison of verdicts",
    "test_dev": "it starts servers of its own, with"
    " test_the_demo_lives_on_a_real_gardener a Gardener among them",
    "test_extender": "kube-apiserver decides who may bind, also beside a Gardener;"
    " what bind writes there: test_placement::test_bind_of_a_shoot_needs_no_pod",
    "test_features": "each feature runs alone on a cluster of its own; all of them beside a"
    " Gardener: test_beside_gardener",
    "test_gardenlets": "gardenlets are deployed by Gardener's own, never by us there",
    "test_kube_scheduler": "Nodes and Pods stand for seeds and shoots on a cluster of their own;"
    " what bind writes beside a Gardener: test_placement::test_bind_of_a_shoot_needs_no_pod",
    "test_managedseedset": "gardener-controller-manager alone makes and deletes replicas there;"
    " rolling and scaling them: test_rollouts_beside_gardener",
    **dict.fromkeys(
        ("test_nodegroups", "test_nodegroups_in_shoots", "test_pool_rolls"),
        "machines live in seeds, where no gardener-apiserver serves; pools in a garden that is a"
        " seed, too: test_discovery_beside_gardener",
    ),
    **dict.fromkeys(
        (
            "test_installing::test_kubectl_builds_the_kustomizations",
            "test_installing::test_a_real_server_takes_the_webhook_configurations",
            "test_installing::test_a_real_server_establishes_every_kind",
        ),
        "the files in the repository are those for a cluster without a Gardener; beside one:"
        " test_beside_a_gardener_only_what_it_lacks_is_installed",
    ),
    "test_installing::test_the_server_needs_no_more_than_its_rights": "it is about the rights where"
    " managed seeds are ours; beside a Gardener:"
    " test_beside_gardener::test_it_never_acts_as_an_administrator",
    "test_installing::test_installing_and_leaving": "it defines and deletes Gardener's kinds;"
    " beside one: test_leaving_a_garden_leaves_it_as_if_we_had_never_been_there",
    **dict.fromkeys(
        (
            "test_installing::test_the_definition_of_a_tortoise_that_is_there_stays_as_it_is",
            "test_installing::test_a_definition_of_ours_that_others_replace_is_theirs",
        ),
        "it is about definitions that are no Gardener's; those of a Gardener:"
        " test_beside_a_gardener_only_what_it_lacks_is_installed",
    ),
    "test_installing::test_api_servers_without_streaming_lists_are_read_in_pages_and_live": "it has"
    " a twin: test_beside_a_gardener_older_api_servers_are_read_in_pages_and_live",
    "test_explain::test_settings_and_invalid_arguments": "it is about the command's own flags and"
    " files; nothing of it depends on the server",
    "test_placement::test_bind_writes_the_shoot_then_the_pod_and_again_is_the_same": "rights on"
    " Pods are generated only where a kube-scheduler is the engine; the shoot's half:"
    " test_bind_of_a_shoot_needs_no_pod",
    "test_scheduling::test_a_shoot_that_asks_for_more_zones_moves_once": "Gardener refuses moves"
    " between seeds without backups:"
    " test_beside_gardener::test_a_move_that_gardener_refuses_is_reported_and_frees_the_slot",
    "test_scheduling::test_a_pending_shoot_is_placed_when_a_seed_becomes_ready_or_is_relabelled":
    "gardener-controller-manager decides by leases whether a seed is ready; the same there:"
    " test_beside_gardener::test_a_shoot_waits_for_a_seed_with_three_zones_and_gets_it",
    "test_scheduling::test_two_hundred_demo_shoots_get_the_seeds_that_explain_predicts": "it"
    " knows providers that no controller is registered for;"
    " test_dev::test_the_demo_lives_on_a_real_gardener and test_placement_like_gardener",
}  # fmt: skip
"""Why a module, or one test of it, does not run there, and which test covers it instead."""

_KINDS: Final = re.compile(
    r"gardener\.cloud|from webhook\.api\.(shoots|seeds|managedseeds|seedautoscalers)"
    r"|from tests\.support\.(landscape_objects|scheduler|set_objects|builders|garden_cluster)"
    r"|from tests\.support\.gardener_stage"
)


GARDENS: Final = frozenset({"gardener_server", "gardener", "garden"})
"""Fixtures that are a real Gardener; tests that use one need no third server."""

_ROOT: Final = Path(__file__).parents[2]


def is_about_gardeners_kinds(path: Path) -> bool:
    """Return whether a module, or a helper that it imports, uses Gardener's kinds."""
    return any(_KINDS.search(each.read_text()) for each in (path, *_helpers(path)))


@cache
def _helpers(path: Path) -> frozenset[Path]:
    """Return the helper modules that a module imports, directly or through others."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        fresh = {*_imported(waiting.pop())} - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
            module = node.module or ""
            for name in (module, *(f"{module}.{each.name}" for each in node.names)):
                file = _ROOT / f"{name.replace('.', '/')}.py"
                if file.exists():
                    yield file


def is_there_anyway(path: Path, fixtures: Collection[str]) -> bool:
    """Return whether a test is about a real Gardener in any case."""
    return path.stem.endswith("_gardener") or not GARDENS.isdisjoint(fixtures)


def reason(path: Path, test: str) -> str:
    """Return why a test does not run on a real Gardener; empty if it does."""
    return EXCEPTIONS.get(path.stem) or EXCEPTIONS.get(f"{path.stem}::{test}", "")
