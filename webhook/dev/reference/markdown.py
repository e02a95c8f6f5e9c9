"""The few parts of Markdown that the pages are made of."""

from collections.abc import Iterable, Sequence

Row = Sequence[str]


def table(headings: Row, rows: Iterable[Row]) -> str:
    """Write a table; a cell may hold Markdown, and a `|` in it is escaped."""
    lines = [_line(headings), _line(["---"] * len(headings)), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Write text in code font; empty text stays empty."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """Write several texts in code font, separated by commas."""
    return ", ".join(code(text) for text in texts)


def one_line(text: str) -> str:
    """Join the lines of a docstring into one."""
    return " ".join(text.split())


def _line(cells: Row) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
