"""Run a scenario with kubectl, and make its output comparable."""

import asyncio
import re
import shlex
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import aiohttp
import orjson

from tests.behaviour.http_requests import DEFINITIONS, is_served, until_served
from tests.behaviour.kubectl_scenarios import Scenario, Step
from tests.behaviour.sample_objects import make_definition, make_namespace
from tests.support.waits import eventually
from webhook.dev.planes.kubectl import Kubectl

Outcome: TypeAlias = dict[str, Any]

_STEP_SECONDS = 150.0
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_READING = (
    "get ",
    "describe ",
    "explain ",
    "diff ",
    "events",
    "auth can-i ",
    "api-resources",
    "wait ",
)

_VOLATILE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000"), "TIME"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"), "TIME"),
    (re.compile(r"(resourceVersion: ?\"?|Resource Version: +|resourceVersion\":\s*\")\d+"), r"\1V"),
    (re.compile(r"\b(\d+d)?(\d+h)?(\d+m)?\d+s\b|\b\d+d\b|(?<=  )\d+m(?=\s)|<invalid>"), "AGE"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"/tmp/\S+"), "FILE"),
    (re.compile(r"(kube-api-access-)[a-z0-9]{5}"), r"\1RANDOM"),
    # Log lines of kubectl's libraries about the connection are no part of the output.
    (re.compile(r"[IWE]\d{4} \S+ +\d+ (request|memcache|round_trippers)\.go:.*\n"), ""),
    (re.compile(r"\w\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), ""),
    (re.compile(r"(made-)[a-z0-9]{5}"), r"\1RANDOM"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "SERVER"),
    (re.compile(r"(replicationcontroller|daemonset|job|cronjob)\S*\s.*\n"), ""),
    # Columns are as wide as their contents.
    (re.compile(r" {2,}"), "  "),
    (re.compile(r" +\n"), "\n"),
    # kube-apiserver looks for Services without an address every few minutes, and reports one that
    # was created while it looks.
    (
        re.compile(r"Events:\n  Type .*\n  ----.*\n  Warning  ClusterIPNotAllocated .*\n"),
        "Events:  <none>\n",
    ),
)


class ScenarioRunner:
    """Runs scenarios against one server, each in its own namespace."""

    def __init__(self, kubectl: Kubectl, session: aiohttp.ClientSession, edits: Path) -> None:
        """Store the file from which the editor reads its sed script."""
        self._kubectl = kubectl
        self._session = session
        self._edits = edits
        self._namespace = f"test-{uuid4().hex[:8]}"
        self._group = f"{self._namespace}.example.com"

    async def run(self, scenario: Scenario, expected: Sequence[Outcome] = ()) -> list[Outcome]:
        """Run every step, again if it came too early."""
        await self._begin(scenario)
        try:
            return [
                await self._take_again(step, outcome) if outcome else await self._take(step)
                for step, outcome in zip_longest(scenario.steps, expected[: len(scenario.steps)])
            ]
        finally:
            for path in (f"{DEFINITIONS}/widgets.{self._group}", self._place):
                async with self._session.delete(path) as response:
                    await response.read()

    @property
    def _place(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}"

    async def _begin(self, scenario: Scenario) -> None:
        """Wait for everything that a server prepares in the background before the first step."""
        for path, obj in (
            ("/api/v1/namespaces", make_namespace(self._namespace)),
            (DEFINITIONS, make_definition(self._group)),
        ):
            async with self._session.post(path, json=obj) as response:
                assert response.status == 201, await response.text()
        await until_served(self._session, self._group, "widgets")
        account = f"{self._place}/serviceaccounts/default"
        await eventually(lambda: is_served(self._session, account))
        if scenario.explains:
            explain = ("explain", "widgets", f"--api-version={self._group}/v1")
            await eventually(lambda: self._kubectl(*explain), 90, 0.2)

    async def _take_again(self, step: Step, expected: Outcome) -> Outcome:
        """Repeat a step that only reads, or that failed and should not have.

        A server learns of permissions, CRDs and the writes of controllers with a delay.
        """
        outcome = await self._take(step)
        for pause in _PAUSES:
            is_early = step.command.startswith(_READING) or outcome["code"] > expected["code"]
            if outcome == expected or not is_early:
                break
            await asyncio.sleep(pause)
            outcome = await self._take(step)
        return outcome

    async def _take(self, step: Step) -> Outcome:
        arguments = shlex.split(self._filled(step.command.replace('"', '\\"')))
        given = None
        if step.manifest is not None:
            given = orjson.loads(
                await self._with_uids(self._filled(orjson.dumps(step.manifest).decode()))
            )
        if step.editor:
            self._edits.write_text(step.editor)
        done = await self._kubectl(
            *arguments,
            *("-n", self._namespace),
            input=given,
            check=False,
            timeout=_STEP_SECONDS,
        )
        return {
            "command": step.command,
            "code": done.code,
            "stdout": self._normal(done.stdout),
            "stderr": self._normal(done.stderr),
        }

    def _filled(self, text: str) -> str:
        return text.replace("{ns}", self._namespace).replace("{group}", self._group)

    async def _with_uids(self, text: str) -> str:
        for name in re.findall(r"{uid:(\w+)}", text):
            found = await self._kubectl(
                "get", "configmap", name, "-n", self._namespace, "-o", "jsonpath={.metadata.uid}"
            )
            text = text.replace(f"{{uid:{name}}}", found.stdout)
        return text

    def _normal(self, text: str) -> str:
        text = text.replace(self._group, "GROUP").replace(self._namespace, "NAMESPACE")
        text = text.replace(self._group.partition(".")[0], "NAMESPACE")
        for pattern, replacement in _VOLATILE:
            text = pattern.sub(replacement, text)
        return text
