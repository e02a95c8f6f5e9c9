"""Which tests about Gardener's kinds run on a real Gardener, and why the others do not."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SERVER: Final = "gardener"
"""How the third server is called in the ids of tests."""

EXCEPTIONS: Final[Mapping[str, str]] = {
    "test_admission": "beside a Gardener only the closed list of docs/gardener.md is registered,"
    " the rest is refused by Gardener itself: test_beside_gardener and the comparison of verdicts",
    "test_dev": "it starts servers of its own, with"
    " test_the_demo_lives_on_a_real_gardener a Gardener among them",
    "test_extender": "who may bind is asked of kube-apiserver, the same one beside a Gardener;"
    " what bind writes there: test_placement::test_bind_of_a_shoot_needs_no_pod",
    "test_gardenlets": "gardenlets are deployed by Gardener's own, never by us there",
    "test_kube_scheduler": "Nodes and Pods stand for seeds and shoots on a cluster of their own;"
    " what bind writes beside a Gardener: test_placement::test_bind_of_a_shoot_needs_no_pod",
    "test_managedseedset": "gardener-controller-manager alone makes and deletes replicas there;"
    " rolling and scaling them: test_rollouts_beside_gardener",
    "test_nodegroups": "machines live in seeds, where no gardener-apiserver serves",
    "test_explain::test_settings_and_mistakes": "it is about the command's own flags and files;"
    " nothing of it depends on the server",
    "test_placement::test_bind_writes_the_shoot_then_the_pod_and_again_is_the_same": "rights on"
    " Pods are generated only where a kube-scheduler is the engine; the shoot's half:"
    " test_bind_of_a_shoot_needs_no_pod",
    "test_scheduling::test_a_shoot_that_asks_for_more_zones_moves_once": "Gardener refuses moves"
    " between seeds without backups:"
    " test_beside_gardener::test_a_move_that_gardener_refuses_is_told_and_frees_the_slot",
    "test_scheduling::test_a_waiting_shoot_wakes_when_a_seed_becomes_ready_or_is_relabelled":
    "gardener-controller-manager judges by leases whether a seed is ready; waking there:"
    " test_beside_gardener::test_a_shoot_waits_for_a_seed_with_three_zones_and_gets_it",
    "test_scheduling::test_two_hundred_shoots_of_the_demo_landscape_end_where_explain_says": "it"
    " knows providers that no controller is registered for;"
    " test_dev::test_the_demo_lives_on_a_real_gardener and test_placement_like_gardener",
}  # fmt: skip
"""Why a module, or one test of it, does not run there, and what shows the same instead."""

_KINDS: Final = re.compile(
    r"gardener\.cloud|from webhook\.api\.(shoots|seeds|managedseeds|seedautoscalers)"
    r"|from tests\.(landscapes|schedulers|sets|builders|gardening|garden_stages)"
)


def is_about_gardeners_kinds(path: Path) -> bool:
    """Tell whether a module of tests deals with seeds, shoots and what belongs to them."""
    return _KINDS.search(path.read_text()) is not None


def is_there_anyway(path: Path) -> bool:
    """Tell whether a module is about a real Gardener from the start."""
    return path.stem.endswith("_gardener") or path.stem == "test_installing"


def reason(path: Path, test: str) -> str:
    """Say why a test does not run on a real Gardener; empty if it does."""
    return EXCEPTIONS.get(path.stem) or EXCEPTIONS.get(f"{path.stem}::{test}", "")
