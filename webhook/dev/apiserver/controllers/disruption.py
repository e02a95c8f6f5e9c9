"""The disruption controller: the status of PodDisruptionBudgets, and their check on eviction."""

import math
from collections.abc import Iterator
from typing import Any, Final

from webhook.dev.apiserver.controllers.workqueue import WorkQueue
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.storage.collection import Change, Collection
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.kube import selectors, status
from webhook.kube.meta import Draft

BUDGETS: Final = "poddisruptionbudgets.policy"
_FINISHED: Final = ("Succeeded", "Failed")
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SCALED: Final = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "Deployment": "deployments.apps",
}


def can_ignore_budgets(pod: Draft) -> bool:
    """Return whether a pod may be evicted without a budget: it is finished, pending or deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in (*_FINISHED, "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def is_healthy(pod: Draft) -> bool:
    """Return whether a pod is ready and not being deleted."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return not pod["metadata"].get("deletionTimestamp") and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def budgets_of(core: Core, pod: Draft) -> list[Entry]:
    """Return the budgets that select a pod."""
    metadata = pod["metadata"]
    found = []
    for entry in core.store.collection(BUDGETS).current(metadata.get("namespace", "")):
        selector = (entry.decode().get("spec") or {}).get("selector")
        if selectors.from_object(selector).matches(metadata.get("labels")):
            found.append(entry)
    return found


async def check_and_decrement(core: Core, pod_entry: Entry, *, dry_run: bool) -> None:
    """Decrement the allowed disruptions of a pod's budget; raise a 429 if there are none."""
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
        # An unhealthy pod does not count towards the budget.
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
    state["disruptedPods"] = {**disrupted, pod_entry.name: objectmeta.timestamp(core.now())}
    budget["status"] = state
    await core.store.put(core.store.collection(BUDGETS), budget, entry)


def _refusal(message: str, retry_after: int) -> status.StatusError:
    error = status.too_many_requests(_VIOLATED, retry_after)
    error.status["details"] = {
        **error.status.get("details", {}),
        "causes": [{"reason": "DisruptionBudget", "message": message}],
    }
    return error


class DisruptionController:
    """Updates the status of budgets."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._reader = StoreReader(core)
        self._queue: WorkQueue[str] = WorkQueue("disruption", self._handle)

    async def run(self) -> None:
        """Reconcile all budgets, then those affected by changes, until cancelled."""
        self._core.store.listeners.add(self._on_change)
        try:
            for entry in self._core.store.collection(BUDGETS).current(""):
                self._queue.add(entry.key)
            await self._queue.run()
        finally:
            self._core.store.listeners.discard(self._on_change)

    def _on_change(self, collection: Collection, change: Change) -> None:
        if collection.name == BUDGETS:
            self._queue.add(change.new.key)
        elif collection.name == "pods" or collection.name in _SCALED.values():
            for entry in self._core.store.collection(BUDGETS).current(change.new.namespace):
                self._queue.add(entry.key)

    async def _handle(self, key: str) -> None:
        collection = self._core.store.collection(BUDGETS)
        entry = collection.head(key)
        if entry is None:
            return
        budget = entry.decode()
        state = self._status(budget)
        if state != budget.get("status"):
            budget["status"] = state
            await self._core.store.put(collection, budget, entry)

    def _status(self, budget: Draft) -> Draft:
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
        state: Draft = {
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

    def _condition(self, before: Draft, allowed: int, generation: int) -> Draft:
        holds = "True" if allowed > 0 else "False"
        known = next(iter(before.get("conditions") or ()), None)
        since = objectmeta.timestamp(self._core.now())
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

    def _pods(self, budget: Draft) -> Iterator[Draft]:
        selector = selectors.from_object((budget.get("spec") or {}).get("selector"))
        for pod in self._reader.list("pods", budget["metadata"].get("namespace", "")):
            finished = (pod.get("status") or {}).get("phase") in _FINISHED
            if not finished and selector.matches(pod["metadata"].get("labels")):
                yield pod

    def _expected(self, spec: Draft, pods: list[Draft]) -> int:
        """Return the expected number of pods; for an absolute minAvailable, the existing ones."""
        if isinstance(spec.get("minAvailable"), int):
            return len(pods)
        controllers: dict[str, int] = {}
        for pod in pods:
            uid, replicas = self._controller(pod)
            controllers[uid] = replicas
        return sum(controllers.values())

    def _controller(self, pod: Draft) -> tuple[str, int]:
        metadata = pod["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            storage = _SCALED.get(reference.get("kind", ""))
            if reference.get("controller") and storage:
                owner = self._reader.get(storage, metadata["namespace"], reference["name"])
                if owner is not None:
                    return reference["uid"], (owner.get("spec") or {}).get("replicas", 1)
        return metadata["uid"], 1


def _desired(spec: Draft, expected: int) -> int:
    minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
    if minimum is not None:
        return _resolve(minimum, expected)
    if maximum is not None:
        return max(expected - _resolve(maximum, expected), 0)
    return 0


def _resolve(value: Any, total: int) -> int:
    """Return a number as it is, and a percentage of the total rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(int(str(value).removesuffix("%")) * total / 100)
