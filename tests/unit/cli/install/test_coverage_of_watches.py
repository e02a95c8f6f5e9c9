"""Whatever the server follows, its rights let it read."""

import pytest

from webhook.admission.configuration import NAME
from webhook.cli.install import rights
from webhook.cluster.requests import Selection
from webhook.settings import load
from webhook.wiring.watched import selections

SETTINGS = load({"namespace": "own"})
SELECTIONS = tuple(selections(SETTINGS, NAME))


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda one: one.kind.resource)
def test_every_watch_is_allowed(selection: Selection):
    granted = {
        "": rights.CLUSTER,
        SETTINGS.namespace: rights.OWN_NAMESPACE,
        SETTINGS.admission.garden_namespace: rights.GARDEN_NAMESPACE,
    }[selection.namespace]
    allowed = {
        verb
        for right in granted
        if (right.group, right.resource) == (selection.kind.group, selection.kind.plural)
        and not right.names
        for verb in right.verbs
    }
    assert set(rights.READ) <= allowed
