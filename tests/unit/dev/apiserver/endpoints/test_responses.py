"""Warnings become headers, each once and within Kubernetes' limits."""

from webhook.dev.apiserver.endpoints.responses import warning_headers


def _texts(warnings: list[str]) -> list[str]:
    return [
        value.removeprefix('299 - "').removesuffix('"') for _, value in warning_headers(warnings)
    ]


def test_each_warning_is_sent_once_and_quoted():
    assert warning_headers(["a", 'b "c" \\', "a", ""]) == [
        ("Warning", '299 - "a"'),
        ("Warning", r'299 - "b \"c\" \\"'),
    ]


def test_long_warnings_are_not_truncated_if_all_fit():
    assert _texts(["x" * 4000, "y" * 96]) == ["x" * 4000, "y" * 96]


def test_warnings_beyond_the_limit_are_truncated():
    found = _texts([f"{number:02}" + "x" * 300 for number in range(40)])
    assert {len(text) for text in found} == {256}
    assert len(found) == 16


def test_warnings_with_control_characters_are_dropped():
    assert _texts(["line\nbreak", "fine"]) == ["fine"]
