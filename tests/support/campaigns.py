"""Keep what full fault campaigns showed: `make soak` records each run and writes their page.

`python -m tests.support.campaigns` writes docs/campaigns.md anew.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "tests" / "data" / "campaigns.json"
PAGE: Final = ROOT / "docs" / "campaigns.md"
IN_SOAK: Final = bool(os.environ.get("ESPALIER_SOAK"))


class Campaign(NamedTuple):
    """A test whose full form is a campaign: what happens in it, and what must hold."""

    test: str
    happens: str
    holds: str


CAMPAIGNS: Final = (
    Campaign(
        "tests/faults/test_placements.py::test_no_seed_is_overfilled",
        "1,000 shoots at once, room for exactly 1,000, two replicas, bind sent to both; the leader"
        " is killed midway, or frozen for 30 s",
        "1,000 are placed, and no seed exceeds its capacity at any time",
    ),
    Campaign(
        "tests/faults/test_untrusted_clients.py::test_untrusted_clients_at_every_path_change_and_learn_nothing",
        "callers without a certificate, with one of another CA, with one or a token without a"
        " permission, and with a forged token send forged reviews and calls to every path of the"
        " server with every method, 20 times",
        "no object is written, no capacity of a seed is reserved, and no name or uid of a shoot is"
        " disclosed; the same calls with valid credentials do all of that",
    ),
    Campaign(
        "tests/faults/test_apiserver_sigkill.py"
        "::test_no_answered_write_is_lost_and_no_object_is_torn",
        "16 writers create, replace and delete on the embedded server, which gets SIGKILL 50 times",
        "no answered write is lost, no object torn, no resourceVersion given out twice",
    ),
    Campaign(
        "tests/faults/test_managedseedset.py"
        "::test_kills_of_the_leader_and_restarts_of_the_api_lose_nothing",
        "a set scales between 2 and 3 seeds and rolls a template; the leader is killed 100 times,"
        " the API server restarted 20 times, in order and by SIGKILL",
        "it converges after each; nothing is created twice, no ordinal is used again",
    ),
    Campaign(
        "tests/properties/test_scheduled_scaling.py"
        "::test_floors_equal_the_open_windows_and_nothing_is_left",
        "1,000 random histories of windows, edits and crash points on a virtual clock",
        "the largest open floor holds at every instant; afterwards the values that users set are"
        " restored",
    ),
    Campaign(
        "tests/faults/test_schedules.py::test_schedules_of_every_density_delay_nobody_else",
        "1,000 schedules of every density, from every minute to leap days, are created in one"
        " namespace for 100 Tortoises, run for minutes and are deleted",
        "`/healthz` and `/readyz` stay 200, every change of a Shoot in another namespace is"
        " admitted, the leader keeps its lease, floors hold, and all bounds are restored",
    ),
    Campaign(
        "tests/faults/test_beside_gardener.py::test_an_outage_of_gardener_ends_by_itself",
        "gardener-apiserver is killed, or frozen, for 60 s under an Espalier with its generated"
        " account",
        "`/readyz` stays 200 and names the stale kinds; decisions that need one answer 503;"
        " afterwards shoots are placed again, each kind listed at most once",
    ),
    Campaign(
        "tests/faults/test_beside_gardener.py::test_placements_survive_a_gardener_that_dies_midway",
        "1,000 shoots, room for exactly 1,000 on 10 seeds; gardener-apiserver is killed and"
        " restarted midway",
        "1,000 are placed, none on two seeds, and every seed is exactly full",
    ),
    Campaign(
        "tests/faults/test_rolls_beside_gardener.py::test_a_roll_survives_the_deaths_of_espalier"
        "_and_gardener_and_edits_survive_the_roll",
        "a set that gardener-controller-manager made is rolled; Espalier and gardener-apiserver are"
        " killed midway, pools edited by hand meanwhile",
        "one replica is updated at a time, the rollout completes, and the edits are kept",
    ),
    Campaign(
        "tests/faults/test_pools.py"
        "::test_while_we_are_away_nothing_rolls_and_afterwards_it_goes_on",
        "a pool of three zones rolls under a real machine-controller-manager with a surge of 1;"
        " our server is killed and down for 20 s, while a zone is scaled up",
        "no set changes meanwhile, and the roll continues afterwards; never more than size + 1"
        " machines",
    ),
    Campaign(
        "tests/faults/test_pools.py"
        "::test_a_kill_after_every_write_of_a_roll_loses_and_passes_nothing",
        "the same roll; our server is killed after each kind of write",
        "the pool is rolled and grown in the end; never more than size + 1 machines, never fewer"
        " available than allowed",
    ),
    Campaign(
        "tests/behaviour/test_pool_rolls.py::test_pools_keep_their_bounds",
        "twelve pools at once under a real machine-controller-manager, one with machines that drain"
        " for 60 s",
        "never more than size + surge machines, never fewer available than allowed",
    ),
    Campaign(
        "tests/behaviour/test_nodegroups.py::test_two_servers_and_an_outage_never_pass_the_maximum",
        "cluster-autoscaler's recorded calls to two servers of one pool, one of which cannot reach"
        " its API server for 60 scans while the other grows the pool",
        "every scan is answered from the cache, increases there are UNAVAILABLE, the maximum is"
        " never exceeded and is reached in the end",
    ),
    Campaign(
        "tests/behaviour/test_admission_like_gardener.py"
        "::test_every_verdict_and_field_is_gardeners_but_for_a_closed_list",
        "every change to every field of 23 base objects, bindings, moves, deletions and statuses,"
        " sent to a Gardener without Espalier and to all of our policies",
        "the same verdict, and every field that Gardener names, except for a closed list",
    ),
    Campaign(
        "tests/faults/test_leaders.py::test_a_killed_leader_is_replaced_in_time",
        "the leader of three replicas gets SIGKILL",
        "another leads once the lease is over, before it could be over twice",
    ),
    Campaign(
        "tests/faults/test_leaders.py::test_no_two_believe_that_they_lead_while_the_api_hangs",
        "the API server hangs for the leader of three replicas, 40 times, for up to a lease",
        "the spans of time in which replicas believe to lead never overlap",
    ),
    Campaign(
        "tests/properties/test_seed_sets.py::test_no_rule_is_broken_and_the_set_converges",
        "2,000 random histories of a set: changes of templates, sizes and settings, failing shoots"
        " and crashes after any write",
        "no rule of a rollout is broken at any time, and the set converges in the end",
    ),
    Campaign(
        "tests/properties/test_seed_autoscaler.py::test_a_set_never_leaves_its_bounds",
        "1,000 random days of load on a set with an autoscaler",
        "its size stays within the bounds",
    ),
    Campaign(
        "tests/properties/test_seed_autoscaler.py"
        "::test_seeds_on_target_that_cannot_be_removed_are_wanted",
        "1,000 random days with seeds that cannot be removed",
        "a set on target wants at least the seeds that are ready and cannot be removed",
    ),
    Campaign(
        "tests/faults/test_serving.py::test_losing_every_watch_for_a_minute_is_not_being_ready",
        "every watch is lost for more than a minute, in real time",
        "`/readyz` fails after a minute, not earlier, and passes once the watches are back",
    ),
    Campaign(
        "tests/faults/test_serving.py::test_an_authority_is_succeeded_without_a_failed_call",
        "a CA is replaced by its successor under load, in real time",
        "no call fails",
    ),
    Campaign(
        "tests/faults/test_cache.py::test_connections_that_break_at_random_lose_nothing",
        "600 writes through a proxy that breaks connections at random",
        "the cache equals what the API server holds in the end",
    ),
    Campaign(
        "tests/properties/test_large_objects.py::test_a_large_field_gets_a_short_response",
        "each field of the kinds that users of a namespace write is enlarged to 3 MB in turn",
        "each review gets a short response, and none takes time that grows with the square of the"
        " size",
    ),
    Campaign(
        "tests/faults/test_slow_clients.py::test_half_sent_bodies_stay_below_the_memory_limit",
        "30 waves of 60 clients that send all but the last byte of 7 MiB, 300 half-sent heads and"
        " 8,000 clients that connect and are silent, beside clients that send reviews",
        "every review is answered, the memory stays below the limit of the manifests, and nothing"
        " is logged or counted as a bug",
    ),
    Campaign(
        "tests/faults/test_certificates.py"
        "::test_a_hundred_rotations_under_load_with_torn_pairs_among_them",
        "1,000 rotations of a mounted certificate under load, torn pairs among them",
        "no call fails, and no torn pair is served",
    ),
)
"""In the order of the page."""

_HEAD: Final = """\
# Fault campaigns

This page lists the tests that inject faults, when each last passed in full, and what it checks.
`make test` runs every campaign in a short form; `make soak` runs them in full and writes this page
from `tests/data/campaigns.json`. Times are from a machine with two cores. A campaign without
a date and a commit was last run before these were recorded; a plus sign means that the tree had
changes that were not committed.

| campaign | variant | time | date | commit |
|---|---|---|---|---|
"""


def record(item: pytest.Item, seconds: float) -> None:
    """Keep that a campaign has passed in full."""
    test, _, variant = item.nodeid.partition("[")
    if not IN_SOAK or test not in {each.test for each in CAMPAIGNS}:
        return
    known = _read()
    known.setdefault(test, {})[variant.rstrip("]")] = {
        "seconds": round(seconds),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
    }
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(known))


def page(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the page from what the runs recorded."""
    text = _HEAD
    for campaign in CAMPAIGNS:
        text += "".join(_rows(campaign, known.get(campaign.test, {})))
    text += "\n## What happens, and what must hold\n"
    for campaign in CAMPAIGNS:
        path, _, name = campaign.test.partition("::")
        text += f"\n### {_title(name)}\n\n`{path}`: {campaign.happens}. Holds: {campaign.holds}.\n"
    return text


def _rows(campaign: Campaign, runs: Mapping[str, Any]) -> Iterator[str]:
    title = _title(campaign.test.partition("::")[2])
    if not runs:
        yield f"| {title} | | not run in full yet | | |\n"
    for variant, run in runs.items():
        commit = f"`{run['commit']}`" if run["commit"] else ""
        yield f"| {title} | {variant} | {run['seconds']} s | {run['date']} | {commit} |\n"


def _title(name: str) -> str:
    words = name.removeprefix("test_").replace("_", " ")
    return words[:1].upper() + words[1:]


def _read() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text())
    return found


def _commit() -> str:
    """Return the commit that was tested; with a plus sign if the tree differs from it.

    The files that campaigns write themselves do not count.
    """
    own = [f":!{path.relative_to(ROOT)}" for path in (RESULTS, PAGE)]
    changes = _git("status", "--porcelain", "--", ".", *own)
    return _git("rev-parse", "--short", "HEAD") + ("+" if changes else "")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    PAGE.write_text(page(_read()))
