"""Objects are read from files whole, or the file is refused."""

from pathlib import Path

import pytest

from webhook.cli.manifestfiles import ManifestError, load, read_objects

SHOOT = "{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, metadata: {name: a}}"
OTHER = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: b}}"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param(SHOOT, ["a"], id="one object"),
        pytest.param(f"{SHOOT}\n---\n\n---\n{OTHER}", ["a", "b"], id="documents, one empty"),
        pytest.param(
            f"{{apiVersion: v1, kind: List, items: [{SHOOT}, {OTHER}]}}", ["a", "b"], id="a list"
        ),
        pytest.param(
            "{apiVersion: v1, kind: List, items: "
            f"[{{apiVersion: v1, kind: ShootList, items: [{SHOOT}]}}]}}",
            ["a"],
            id="a list in a list",
        ),
    ],
)
def test_every_object_is_read(tmp_path: Path, text: str, names: list[str]) -> None:
    objects = read_objects(write(tmp_path, text))
    assert [each["metadata"]["name"] for each in objects] == names


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kind: Shoot", id="an object without apiVersion"),
        pytest.param("[1, 2]", id="a sequence"),
        pytest.param("text", id="a scalar"),
        pytest.param(
            f"{{apiVersion: v1, kind: List, items: [{SHOOT}, 7]}}", id="a list with a number in it"
        ),
        pytest.param(
            f"{{apiVersion: v1, kind: List, items: [{SHOOT}, {{metadata: {{}}}}]}}",
            id="a list with an object of no kind",
        ),
    ],
)
def test_what_is_not_an_object_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ManifestError, match="document 1 has no apiVersion and kind"):
        [*read_objects(write(tmp_path, text))]


def test_check_reads_only_kinds_that_have_policies(tmp_path: Path) -> None:
    text = f"{{apiVersion: v1, kind: List, items: [{OTHER}, 7, {SHOOT}]}}"
    assert [each.key.name for each in load([write(tmp_path, text)])] == ["a"]
