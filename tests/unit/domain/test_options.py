from dataclasses import fields

from webhook.domain.options import Options
from webhook.settings import Settings


def test_every_section_of_the_options_can_be_set() -> None:
    found_by_looking = {"beside_gardener", "user"}
    as_users_call_them = {"scheduling": "scheduler", "scaling": "scheduled_scaling"}
    sections = {each.name for each in fields(Options)} - found_by_looking
    assert {as_users_call_them.get(name, name) for name in sections} <= set(Settings.model_fields)
