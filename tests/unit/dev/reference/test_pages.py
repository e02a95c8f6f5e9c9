"""The generated reference is current and complete."""

import re
from pathlib import Path
from typing import get_args

import pytest

from webhook.admission.table import POLICIES
from webhook.api.event_reasons import EVENT_REASONS, Reason
from webhook.api.kinds import KINDS
from webhook.dev.reference import pages
from webhook.settings import Settings
from webhook.settingsfile import camel, flag_name, variable_name

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "docs" / "reference"


def test_every_page_is_what_make_reference_writes() -> None:
    assert list(pages.outdated(FOLDER)) == [], "run make reference"


def test_a_page_that_was_edited_by_hand_is_outdated(tmp_path: Path) -> None:
    pages.write(tmp_path)
    assert list(pages.outdated(tmp_path)) == []
    page = tmp_path / "kinds.md"
    page.write_text(page.read_text() + "\n")
    (tmp_path / "metrics.md").unlink()
    assert list(pages.outdated(tmp_path)) == ["kinds.md", "metrics.md"]


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described(name: str) -> None:
    text = pages.PAGES["settings.md"]()
    row = f"| `{flag_name(name)}` | `{variable_name(name)}` | "
    assert row in text or f"### `{camel(name)}`\n" in text


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("admission", "modes"),
        ("admission", "exceptions"),
        ("admission", "workerRule"),
        ("admission", "failures"),
        ("scheduler", "strategy"),
        ("scheduler", "weights.minimalDistance"),
        ("capacity", "default"),
        ("capacity", "seeds"),
        ("seeds", "retryLimit"),
        ("scheduledScaling", "effect"),
        ("nodegroups", "discovery"),
        ("rollout", "respectWindow"),
    ],
)
def test_a_key_of_the_file_has_a_row_in_its_section(section: str, key: str) -> None:
    text = pages.PAGES["settings.md"]().partition(f"### `{section}`\n")[2]
    assert f"| `{key}` | " in text.partition("\n### ")[0]


def test_every_row_of_the_settings_has_a_meaning() -> None:
    rows = [line for line in pages.PAGES["settings.md"]().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_policy_and_kind_is_listed() -> None:
    policies = pages.PAGES["policies.md"]()
    assert [each.name for each in POLICIES if f"- `{each.name}`: " not in policies] == []
    kinds = pages.PAGES["kinds.md"]()
    assert [each.name for each in KINDS if f"| {each.name} | `{each.plural}` |" not in kinds] == []


def test_every_event_reason_has_a_row_and_is_used() -> None:
    assert set(EVENT_REASONS) == set(get_args(Reason))
    sources = [path for path in (ROOT / "webhook").rglob("*.py") if path.stem != "event_reasons"]
    used = set(re.findall(r'"([A-Z][A-Za-z]+)"', "\n".join(each.read_text() for each in sources)))
    assert set(EVENT_REASONS) <= used
