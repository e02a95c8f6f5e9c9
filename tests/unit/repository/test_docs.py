"""The documentation names files, links and error texts that exist."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
