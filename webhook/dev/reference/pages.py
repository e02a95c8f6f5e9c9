"""PAGES: every generated page of the reference, by the name of its file."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from webhook.dev.reference import alerts, event_reasons, kinds, metrics, policies, settings

NOTICE: Final = "<!-- Written by `make reference`; change the code, not this page. -->\n\n"

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": settings.page,
    "policies.md": policies.page,
    "kinds.md": kinds.page,
    "metrics.md": metrics.page,
    "event-reasons.md": event_reasons.page,
    "alerts.md": alerts.page,
}


def write(folder: Path) -> None:
    """Write every page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in PAGES.items():
        (folder / name).write_text(NOTICE + build(), encoding="utf-8")


def outdated(folder: Path) -> Iterator[str]:
    """Yield the names of pages that differ from what the code generates."""
    for name, build in PAGES.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != NOTICE + build():
            yield name
