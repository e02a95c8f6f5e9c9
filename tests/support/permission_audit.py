"""Permissions granted compared with permissions used, as API servers have logged them.

Servers of tests use certificates of our account whose groups name the modes and the features of the
installation and the garden namespace, so each line of an audit log states whose permissions it is
about. All processes of a run reduce the logs of their API servers into one folder, and
`tests/audit` compares them at the end.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from typing_extensions import override

from webhook.cli.install.generate.rules import PermissionRule
from webhook.cli.install.layout import InstallMode, Layout

FOLDER = os.environ.get("ESPALIER_AUDIT", "")
"""The folder of the run; without one nothing is audited."""
AUDITED = "espalier:audited"
"""The group of all accounts that are audited."""
_MODES, _FEATURES, _GARDEN = "espalier:modes:", "espalier:features:", "espalier:garden:"
_OTHERS = ("kube-system", "kube-node-lease")
_CANNOT = re.compile(r"cannot (\w+) resource")
_BLOCKS = "you can't set finalizers on"
_COMPLETE = ("ResponseStarted", "ResponseComplete")


class UsedPermission(NamedTuple):
    """One verb on one resource that a server used, or was not allowed to use."""

    modes: tuple[str, ...]
    features: tuple[str, ...]
    verb: str
    group: str
    resource: str
    namespaces: tuple[str, ...]
    """The scopes that the object's namespace is; empty for any other namespace and for none."""
    name: str
    is_allowed: bool

    @override
    def __str__(self) -> str:
        where = f" in {' and '.join(self.namespaces)}" if self.namespaces else ""
        resource = f"{self.resource}.{self.group}".rstrip(".")
        return f"{self.verb} {resource}{where} ({', '.join(self.modes)})"


def groups_of(layout: Layout, *further: str) -> tuple[str, ...]:
    """Return the groups of an account that runs in the modes of a layout, and in further ones."""
    modes = "+".join(sorted((*layout.modes, *further)))
    features = "+".join(sorted(layout.features))
    garden = layout.garden_namespace
    return (AUDITED, f"{_MODES}{modes}", f"{_FEATURES}{features}", f"{_GARDEN}{garden}")


def reduce_logs(logs: Iterable[Path]) -> None:
    """Write what the logs of one API server show into the folder of the run."""
    found = {used for log in logs for used in read_log(log.read_text().splitlines())}
    folder = Path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{uuid4().hex}.json").write_text(json.dumps(sorted(found)))


def read_folder(folder: Path) -> set[UsedPermission]:
    """Return what all API servers of a run have logged."""
    found = (path.read_bytes() for path in folder.glob("*.json"))
    return {each for text in found for each in msgspec.json.decode(text, type=set[UsedPermission])}


def read_log(lines: Iterable[str]) -> Iterator[UsedPermission]:
    """Yield the permissions that the lines of an audit log are about."""
    for line in lines:
        event = json.loads(line)
        if "objectRef" in event and event["stage"] in _COMPLETE:
            yield from _read_event(event)


def _read_event(event: Mapping[str, Any]) -> Iterator[UsedPermission]:
    groups = event["user"].get("groups") or ()
    modes, features, garden = (
        next(each for each in groups if each.startswith(prefix)).removeprefix(prefix)
        for prefix in (_MODES, _FEATURES, _GARDEN)
    )
    own = event["user"]["username"].split(":")[2]
    target = event["objectRef"]
    namespaces = {"own": own, "garden": garden} | {name: name for name in _OTHERS}
    scopes = [name for name, known in namespaces.items() if target.get("namespace") == known]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
    named = target.get("name", "") if resource.endswith("webhookconfigurations") else ""
    used = UsedPermission(
        tuple(modes.split("+")),
        tuple(features.split("+")),
        event["verb"],
        target.get("apiGroup", ""),
        resource,
        tuple(scopes),
        named,
        is_allowed=True,
    )
    yield from _outcome(used, event)


def _outcome(used: UsedPermission, event: Mapping[str, Any]) -> Iterator[UsedPermission]:
    """Yield what a request used, or what it was not allowed to use."""
    status = event.get("responseStatus") or {}
    code, message = status.get("code", 0), status.get("message", "")
    annotations = event.get("annotations") or {}
    if annotations.get("authorization.k8s.io/decision") == "forbid":
        yield used._replace(is_allowed=False)
    elif code == 403 and (missing := _CANNOT.search(message)):
        yield used._replace(verb=missing[1], is_allowed=False)
    elif code == 403 and _BLOCKS in message:
        yield used._replace(verb="update", resource="(an owner)/finalizers", is_allowed=False)
    else:
        yield used
        if code == 201 and used.verb in ("patch", "update"):
            yield used._replace(verb="create")  # which the API server checks as well


def covers(rule: PermissionRule, used: UsedPermission) -> bool:
    """Return whether a rule grants what was used, or refused, in a mode and a feature of both."""
    return (
        (used.group, used.resource) == (rule.group, rule.resource)
        and used.verb in rule.verbs
        and bool({*used.modes} & {*rule.modes})
        and (not rule.features or bool({*used.features} & {*rule.features}))
        and (rule.scope == "cluster" or rule.scope in used.namespaces)
        and (not rule.names or used.name in rule.names)
    )


def is_used(
    rule: PermissionRule, verb: str, mode: InstallMode, used: Iterable[UsedPermission]
) -> bool:
    """Return whether a server in a mode has used one verb of a rule."""
    one = rule._replace(verbs=(verb,), modes=(mode,))
    return any(each.is_allowed and covers(one, each) for each in used)


def not_granted(
    rules: Iterable[PermissionRule], used: Iterable[UsedPermission]
) -> list[UsedPermission]:
    """Return what servers tried to use and no rule grants.

    What a rule grants is refused as well if a test has taken the roles away.
    """
    refused = [each for each in used if not each.is_allowed]
    return sorted(each for each in refused if not any(covers(rule, each) for rule in rules))
