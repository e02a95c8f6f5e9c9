from pathlib import Path

from webhook.dev.planes.access import sign_access
from webhook.dev.planes.certificates import Keyring


def test_a_user_of_many_groups_gets_one_certificate_and_others_another(tmp_path: Path) -> None:
    keyring, groups = Keyring(tmp_path, "unit"), [f"group-{number}" for number in range(100)]
    first = sign_access("https://api", keyring, "system:a:b", groups)
    assert sign_access("https://api", keyring, "system:a:b", groups).client == first.client
    for user, others in (("system:a:b", groups[1:]), ("system:a:c", groups)):
        assert sign_access("https://api", keyring, user, others).client != first.client
