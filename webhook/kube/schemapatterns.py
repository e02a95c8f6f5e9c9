"""The regular expressions of schemas, compiled with RE2."""

from typing import Any, NamedTuple


class Pattern(NamedTuple):
    """A regular expression of a schema; `search` is None where it cannot be compiled."""

    text: str
    search: Any
    problem: str = ""


def compile_pattern(text: str) -> Pattern | None:
    """Compile with RE2, whose syntax and linear time Kubernetes' patterns rely on."""
    if not text:
        return None
    # Loaded here: only schemas of others have patterns, and only the extra `dev` installs RE2.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return Pattern(text, re2.compile(text, options=options).search)
    except re2.error as error:
        return Pattern(text, None, str(error))
