"""What people do with kubectl looks the same on both servers, to the letter."""

import pytest

from tests.behaviour.records import Record
from tests.behaviour.stories import STORIES
from tests.behaviour.telling import Teller
from webhook.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(180)
RECORD = Record("stories")


@pytest.mark.parametrize("story", [pytest.param(story, id=story.id) for story in STORIES])
async def test_story(server, story, tmp_path, monkeypatch):
    monkeypatch.setenv("EDITOR", str(tmp_path / "editor"))
    told = await Teller(server, tmp_path).tell(story)
    RECORD.check(story.id, told, is_real=isinstance(server, Kubernetes))


def test_every_story_is_recorded():
    assert RECORD.keys == {story.id for story in STORIES}
