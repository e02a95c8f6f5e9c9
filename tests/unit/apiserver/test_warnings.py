"""Warnings on their way to the client."""

from webhook.apiserver.responses import warning_headers


def _texts(warnings: list[str]) -> list[str]:
    return [
        value.removeprefix('299 - "').removesuffix('"') for _, value in warning_headers(warnings)
    ]


def test_each_warning_is_told_once_and_quoted():
    assert warning_headers(["a", 'b "c" \\', "a", ""]) == [
        ("Warning", '299 - "a"'),
        ("Warning", r'299 - "b \"c\" \\"'),
    ]


def test_long_warnings_stay_whole_as_long_as_all_fit():
    assert _texts(["x" * 4000, "y" * 96]) == ["x" * 4000, "y" * 96]


def test_too_much_is_cut_short():
    found = _texts([f"{number:02}" + "x" * 300 for number in range(40)])
    assert {len(text) for text in found} == {256}
    assert len(found) == 16


def test_control_characters_have_no_place_in_a_header():
    assert _texts(["line\nbreak", "fine"]) == ["fine"]
