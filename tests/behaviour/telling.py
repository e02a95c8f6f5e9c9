"""Run a story with kubectl, and make its output comparable."""

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from tests.behaviour.samples import make_definition, make_namespace
from tests.behaviour.stories import Step, Story
from webhook.planes.kubectl import Kubectl

_VOLATILE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000"), "TIME"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"), "TIME"),
    (re.compile(r"(resourceVersion: ?\"?|Resource Version: +|resourceVersion\":\s*\")\d+"), r"\1V"),
    (re.compile(r"\b(\d+d)?(\d+h)?(\d+m)?\d+s\b|\b\d+d\b"), "AGE"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"/tmp/\S+"), "FILE"),
    (re.compile(r"(kube-api-access-)[a-z0-9]{5}"), r"\1RANDOM"),
    (re.compile(r"\w\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "), ""),
    (re.compile(r"(made-)[a-z0-9]{5}"), r"\1RANDOM"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "SERVER"),
    (re.compile(r"(replicationcontroller|daemonset|job|cronjob)\S*\s.*\n"), ""),
    # Columns are as wide as their contents.
    (re.compile(r" {2,}"), "  "),
    (re.compile(r" +\n"), "\n"),
)


class Teller:
    """Tells stories to one server, each in a place of its own."""

    def __init__(self, kubectl: Kubectl, folder: Path) -> None:
        self._kubectl = kubectl
        self._folder = folder
        self._namespace = f"test-{uuid4().hex[:8]}"
        self._group = f"{self._namespace}.example.com"

    async def tell(self, story: Story) -> list[dict[str, Any]]:
        kubectl = self._kubectl
        objects = [make_namespace(self._namespace), make_definition(self._group)]
        await kubectl("create", "-f", "-", input=objects)
        definition = f"crd/widgets.{self._group}"
        await kubectl("wait", "--for=condition=Established", definition)
        # Every namespace gets this by and by; a story begins when it is there.
        await kubectl("wait", "--for=create", "-n", self._namespace, "serviceaccount/default")
        if story.explains:
            await self._until_documented()
        try:
            return [await self._take(step) for step in story.steps]
        finally:
            await kubectl("delete", definition, "--wait=false", check=False)
            await kubectl("delete", "namespace", self._namespace, "--wait=false", check=False)

    async def _until_documented(self) -> None:
        explain = ("explain", "widgets", f"--api-version={self._group}/v1")
        async with asyncio.timeout(30):
            while (await self._kubectl(*explain, check=False)).code:  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    async def _take(self, step: Step) -> dict[str, Any]:
        arguments = shlex.split(self._filled(step.command.replace('"', '\\"')))
        given = None
        if step.manifest is not None:
            given = orjson.loads(
                await self._with_uids(self._filled(orjson.dumps(step.manifest).decode()))
            )
        if step.editor:
            arguments = await self._edit(step, arguments)
        done = await self._kubectl(
            *arguments, "-n", self._namespace, input=given, check=False, timeout=50
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

    async def _edit(self, step: Step, arguments: list[str]) -> list[str]:
        script = self._folder / "editor"
        script.write_text(f"#!/bin/sh\nexec sed -i '{step.editor}' \"$1\"\n")
        script.chmod(0o700)
        return arguments

    def _normal(self, text: str) -> str:
        text = text.replace(self._group, "GROUP").replace(self._namespace, "NAMESPACE")
        text = text.replace(self._group.partition(".")[0], "NAMESPACE")
        for pattern, replacement in _VOLATILE:
            text = pattern.sub(replacement, text)
        return text
