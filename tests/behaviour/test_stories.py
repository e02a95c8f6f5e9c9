"""What people do with kubectl, old and new, looks the same on both servers, to the letter."""

from dataclasses import replace

import pytest

from tests.behaviour.records import Record
from tests.behaviour.stories import STORIES
from tests.behaviour.telling import Teller
from tests.planes import require_parts
from webhook.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(400)
RECORDS = {name: Record(f"stories-{name}") for name in ("kubectl", "kubectl-1.32")}


@pytest.mark.parametrize("binary", RECORDS)
@pytest.mark.parametrize("story", [pytest.param(story, id=story.id) for story in STORIES])
async def test_story(server, session, story, binary, tmp_path, monkeypatch):
    require_parts("kubernetes" if binary == "kubectl" else binary)
    edits = tmp_path / "edits"
    monkeypatch.setenv("EDITOR", f"sed -i -f {edits}")
    teller = Teller(replace(server.kubectl, binary=binary), session, edits)
    told = await teller.tell(story, RECORDS[binary].expected(story.id))
    RECORDS[binary].check(story.id, told, is_real=isinstance(server, Kubernetes))


@pytest.mark.parametrize("binary", RECORDS)
def test_every_story_is_recorded(binary):
    assert RECORDS[binary].keys == {story.id for story in STORIES}
