"""Every watch of the server has the permissions that it needs."""

import pytest

from webhook.admission.webhook_configurations import NAME
from webhook.cli.install.generate import permissions
from webhook.cli.install.generate.roles import namespace_of
from webhook.cli.install.layout import Layout
from webhook.cluster.requests import Selection
from webhook.settings import load
from webhook.wiring.watched_kinds import selections

SETTINGS = load({"namespace": "own"})
SELECTIONS = tuple(selections(SETTINGS, NAME))


@pytest.mark.parametrize("beside", [False, True], ids=["standalone", "beside a Gardener"])
@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda one: one.kind.resource)
def test_every_watch_is_allowed(selection: Selection, beside: bool):
    layout = Layout(namespace=SETTINGS.namespace, beside_gardener=beside)
    allowed = {
        verb
        for rule in permissions.granted(layout)
        if namespace_of(rule.scope, layout) == selection.namespace
        and (rule.group, rule.resource) == (selection.kind.group, selection.kind.plural)
        and not rule.names
        for verb in rule.verbs
    }
    assert {"list", "watch"} <= allowed
