"""PodDisruptionBudgets: how many of the pods that they select may be missing."""

import math
from collections.abc import Iterator
from typing import Any, Final

from webhook.api import selectors, status
from webhook.apiserver import meta
from webhook.apiserver.background import Worker
from webhook.apiserver.collection import Change, Collection
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry
from webhook.apiserver.lookup import Lookup

Object = dict[str, Any]

BUDGETS: Final = "poddisruptionbudgets.policy"
_OVER: Final = ("Succeeded", "Failed")
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SCALED: Final = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "Deployment": "deployments.apps",
}


def ignores_budgets(pod: Object) -> bool:
    """Whether a pod may always be evicted: it runs no more, or not yet."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in (*_OVER, "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def is_healthy(pod: Object) -> bool:
    """Whether a pod is ready, and not about to end."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return not pod["metadata"].get("deletionTimestamp") and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def budgets_of(core: Core, pod: Object) -> list[Entry]:
    """Find the budgets that count a pod."""
    metadata = pod["metadata"]
    found = []
    for entry in core.store.collection(BUDGETS).current(metadata.get("namespace", "")):
        selector = (entry.decode().get("spec") or {}).get("selector")
        if selectors.from_object(selector).matches(metadata.get("labels")):
            found.append(entry)
    return found


async def spend(core: Core, pod_entry: Entry, *, dry_run: bool) -> None:
    """Take one disruption from the budget of a pod; 429 if there is none."""
    pod = pod_entry.decode()
    found = budgets_of(core, pod)
    if not found:
        return
    if len(found) > 1:
        raise status.failure(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
        )
    entry = found[0]
    budget = entry.decode()
    state = budget.get("status") or {}
    if not is_healthy(pod) and 0 < state.get("desiredHealthy", 0) <= state.get("currentHealthy", 0):
        # An unhealthy pod is not among those that keep the budget.
        return
    if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        message = f"The disruption budget {entry.name} is still being processed by the server."
        raise _refusal(message, 10)
    if state.get("disruptionsAllowed", 0) <= 0:
        wanted, have = state.get("desiredHealthy", 0), state.get("currentHealthy", 0)
        message = (
            f"The disruption budget {entry.name} needs {wanted} healthy pods and has {have} "
            "currently"
        )
        raise _refusal(message, 0)
    if dry_run:
        return
    state["disruptionsAllowed"] -= 1
    disrupted = state.get("disruptedPods") or {}
    state["disruptedPods"] = {**disrupted, pod_entry.name: meta.timestamp(core.now())}
    budget["status"] = state
    await core.store.put(core.store.collection(BUDGETS), budget, entry)


def _refusal(message: str, retry_after: int) -> status.StatusError:
    error = status.too_many_requests(_VIOLATED, retry_after)
    error.status["details"] = {
        **error.status.get("details", {}),
        "causes": [{"reason": "DisruptionBudget", "message": message}],
    }
    return error


class Budgets:
    """Keeps the status of budgets true."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._reader = Lookup(core)
        self._worker: Worker[str] = Worker("disruption", self._handle)

    async def run(self) -> None:
        """Look at every budget once, then at what changes, until cancelled."""
        self._core.store.listeners.add(self._hear)
        try:
            for entry in self._core.store.collection(BUDGETS).current(""):
                self._worker.add(entry.key)
            await self._worker.run()
        finally:
            self._core.store.listeners.discard(self._hear)

    def _hear(self, collection: Collection, change: Change) -> None:
        if collection.name == BUDGETS:
            self._worker.add(change.new.key)
        elif collection.name == "pods" or collection.name in _SCALED.values():
            for entry in self._core.store.collection(BUDGETS).current(change.new.namespace):
                self._worker.add(entry.key)

    async def _handle(self, key: str) -> None:
        collection = self._core.store.collection(BUDGETS)
        entry = collection.head(key)
        if entry is None:
            return
        budget = entry.decode()
        state = self._state(budget)
        if state != budget.get("status"):
            budget["status"] = state
            await self._core.store.put(collection, budget, entry)

    def _state(self, budget: Object) -> Object:
        spec, before = budget.get("spec") or {}, budget.get("status") or {}
        pods = list(self._pods(budget))
        names = {pod["metadata"]["name"] for pod in pods}
        disrupted = {
            name: since
            for name, since in (before.get("disruptedPods") or {}).items()
            if name in names
        }
        expected = self._expected(spec, pods)
        healthy = sum(is_healthy(pod) and pod["metadata"]["name"] not in disrupted for pod in pods)
        desired = _desired(spec, expected)
        allowed = max(healthy - desired, 0) if expected else 0
        generation = budget["metadata"].get("generation", 1)
        state: Object = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        if disrupted:
            state["disruptedPods"] = disrupted
        state["conditions"] = [self._condition(before, allowed, generation)]
        return state

    def _condition(self, before: Object, allowed: int, generation: int) -> Object:
        holds = "True" if allowed > 0 else "False"
        known = next(iter(before.get("conditions") or ()), None)
        since = meta.timestamp(self._core.now())
        if known and known["status"] == holds:
            since = known["lastTransitionTime"]
        return {
            "type": "DisruptionAllowed",
            "status": holds,
            "observedGeneration": generation,
            "lastTransitionTime": since,
            "reason": "SufficientPods" if allowed > 0 else "InsufficientPods",
            "message": "",
        }

    def _pods(self, budget: Object) -> Iterator[Object]:
        selector = selectors.from_object((budget.get("spec") or {}).get("selector"))
        for pod in self._reader.list("pods", budget["metadata"].get("namespace", "")):
            over = (pod.get("status") or {}).get("phase") in _OVER
            if not over and selector.matches(pod["metadata"].get("labels")):
                yield pod

    def _expected(self, spec: Object, pods: list[Object]) -> int:
        """Count the pods there should be; for an absolute minimum those there are will do."""
        if isinstance(spec.get("minAvailable"), int):
            return len(pods)
        controllers: dict[str, int] = {}
        for pod in pods:
            uid, replicas = self._controller(pod)
            controllers[uid] = replicas
        return sum(controllers.values())

    def _controller(self, pod: Object) -> tuple[str, int]:
        metadata = pod["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            storage = _SCALED.get(reference.get("kind", ""))
            if reference.get("controller") and storage:
                owner = self._reader.get(storage, metadata["namespace"], reference["name"])
                if owner is not None:
                    return reference["uid"], (owner.get("spec") or {}).get("replicas", 1)
        return metadata["uid"], 1


def _desired(spec: Object, expected: int) -> int:
    minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
    if minimum is not None:
        return _scaled(minimum, expected)
    if maximum is not None:
        return max(expected - _scaled(maximum, expected), 0)
    return 0


def _scaled(value: Any, total: int) -> int:
    """Take a number as it is, and a percentage of the total, rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(int(str(value).removesuffix("%")) * total / 100)
