"""The documentation names files, links and error texts that exist."""

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import campaigns
from webhook.api.event_reasons import EVENT_REASONS
from webhook.cli.install.generate.alerts import ALERTS

ROOT = Path(__file__).parents[3]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")})


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", page.read_text()))
    paths = [path for path in named if "/" in path]
    assert [path for path in paths if not _exists(path)] == []


def test_the_walks_name_functions_that_their_modules_define_or_import() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    walks = re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w/]+\.py)`", page)
    assert len(walks) >= 4
    lost = [each for each in walks if not re.search(rf"\b{each[0]}\b", _module(each[1]))]
    assert lost == []


def test_alerts_and_event_reasons_that_are_named_exist() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    known = {each.name for each in ALERTS}
    assert set(re.findall(r"`(Espalier[A-Z]\w+)`", text)) == known
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    named = set(re.findall(r"Events? `(\w+)`", page))
    assert named
    assert named <= set(EVENT_REASONS)


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page.name for page in pages if f"]({page.name})" not in index] == []


def test_troubleshooting_quotes_error_texts_of_the_code() -> None:
    quoted = [*_error_texts()]
    assert len(quoted) >= 6
    assert [text for text in quoted if text not in _source()] == []


def test_the_page_of_campaigns_is_what_their_runs_wrote() -> None:
    known = json.loads(campaigns.RESULTS.read_text())
    assert campaigns.PAGE.read_text() == campaigns.page(known), (
        "run python -m tests.support.campaigns"
    )
    assert set(known) <= {each.test for each in campaigns.CAMPAIGNS}


@pytest.mark.parametrize("campaign", campaigns.CAMPAIGNS, ids=lambda each: each.test)
def test_every_campaign_is_a_test(campaign: campaigns.Campaign) -> None:
    path, _, name = campaign.test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()


def test_every_module_that_does_more_in_a_soak_has_a_campaign() -> None:
    others = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    modules = [path for path in others if re.search("ESPALIER_SOAK|IN_SOAK", path.read_text())]
    assert len(modules) > 10
    recorded = {each.test.partition("::")[0] for each in campaigns.CAMPAIGNS}
    assert {name_of(path) for path in modules} - recorded == set()


def test_every_campaign_is_run_by_make_soak() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("soak: setup")[2].partition("\n\n")[0]
    places = tuple(re.findall(r"tests/[\w/.]+", recipe))
    assert [each.test for each in campaigns.CAMPAIGNS if not each.test.startswith(places)] == []


@pytest.mark.parametrize(
    ("changed", "mark"),
    [
        pytest.param((), "", id="a clean tree"),
        pytest.param(("docs/campaigns.md", "tests/data/campaigns.json"), "", id="own results"),
        pytest.param(("tracked.py",), "+", id="a change that is not committed"),
    ],
)
def test_a_campaign_is_recorded_with_its_date_and_the_commit_that_was_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: tuple[str, ...], mark: str
) -> None:
    results, page = tmp_path / "tests/data/campaigns.json", tmp_path / "docs/campaigns.md"
    for path in (results, page, tmp_path / "tracked.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    for command in (
        ("init", "--quiet"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "a"),
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    read = ["git", "rev-parse", "--short", "HEAD"]
    head = subprocess.run(read, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    for name in changed:
        (tmp_path / name).write_text("{} \n")
    for name, value in (("ROOT", tmp_path), ("RESULTS", results), ("PAGE", page)):
        monkeypatch.setattr(campaigns, name, value)
    monkeypatch.setattr(campaigns, "IN_SOAK", True)
    test = campaigns.CAMPAIGNS[0].test
    campaigns.record(SimpleNamespace(nodeid=f"{test}[killed]"), 12.3)  # type: ignore[arg-type]
    run = json.loads(results.read_text())[test]["killed"]
    assert run["commit"] == head.strip() + mark
    assert run["seconds"] == 12
    assert datetime.now(UTC).date() - date.fromisoformat(run["date"]) <= timedelta(days=1)
    assert f"| killed | 12 s | {run['date']} | `{run['commit']}` |" in page.read_text()


def _error_texts() -> Iterator[str]:
    """Yield the fixed parts of the texts in the first column of the table of error texts."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text().partition("## Error texts")[2]
    for row in re.findall(r"^\| `([^`]+)`", page, re.MULTILINE):
        yield from (part for part in re.split(r"\b[A-Z]{3,}\b", row) if len(part) > 3)


def _module(path: str) -> str:
    return (ROOT / "webhook" / path).read_text()


def _exists(path: str) -> bool:
    return any((ROOT / folder / path).exists() for folder in ("", "webhook"))


@cache
def _source() -> str:
    """Return the text of all modules, with string literals that span lines joined."""
    text = "\n".join(path.read_text() for path in (ROOT / "webhook").rglob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", text)
