"""The calls of a scheduler extender: filter, prioritize, bind and explain."""

from typing import Any, Final

from webhook.api.core import Pod
from webhook.api.decode import decode
from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from webhook.kube.meta import ObjectKey
from webhook.placement import decision
from webhook.placement.placer import Placed, Placement, Placer
from webhook.runtime.event_recorder import EventRecorder
from webhook.scheduling import explain, extender
from webhook.scheduling.extender import ExtenderBindingArgs, ExtenderError, ExtenderResult
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import Reservations
from webhook.scheduling.seed_table import SeedTable
from webhook.state.snapshot import Snapshot
from webhook.state.views import AssumingCache

_POD: Final = kind_of_model(Pod)
_SHOOT: Final = kind_of_model(Shoot)
_ATTEMPTS: Final = 3


class ExtenderService:
    """Answers a kube-scheduler and binds the shoots that it places."""

    def __init__(
        self, client: Client, cache: AssumingCache, placer: Placer, recorder: EventRecorder
    ) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._recorder = recorder
        self._seed_table = SeedTable()
        self._open_table = SeedTable()
        """For clients that are not authorized: they must not displace what a scheduler uses."""
        self._reservations = Reservations()

    def filter(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult:
        table = self._seed_table if authorized else self._open_table
        return extender.filter_seeds(
            body, table, snapshot, self._reservations, authorized=authorized
        )

    def prioritize(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult:
        table = self._seed_table if authorized else self._open_table
        return extender.prioritize(body, table, snapshot, self._reservations, authorized=authorized)

    def warm_up(self, shoot: Shoot, snapshot: Snapshot) -> None:
        """Compute the cached results that a shoot like this one needs."""
        place(shoot, self._seed_table, snapshot)

    def record(self, result: ExtenderResult) -> None:
        """Reserve capacity for the shoot of an authorized call, or report why no seed fits.

        Only a shoot that the cache holds with the same uid counts, and only as the cache holds it.
        """
        sent = result.shoot
        if sent is None:
            return
        snapshot = self._cache.snapshot()
        shoot = snapshot.get(Shoot, sent.key)
        if shoot is None or not shoot.uid or shoot.uid != sent.uid:
            return
        if result.seed is None:
            self._reservations.drop(shoot.key)
        elif result.seed != shoot.spec.seed_name:
            self._reservations.hold(shoot, result.seed, snapshot)
        if result.rejection:
            message = f"Failed to schedule Shoot: {result.rejection}"
            self._emit(shoot, decision.FAILED, message, failed=True)

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        found = snapshot.look_up(Shoot, shoot)
        if found is None:
            return None
        return explain.encode(explain.explain(found, self._seed_table, snapshot))

    async def find_shoot(self, binding: ExtenderBindingArgs, seconds: float) -> ObjectKey:
        """Return the shoot of a binding: the one of the Pod, or the one with the Pod's name."""
        shoot = self._cache.snapshot().get(Shoot, binding.pod)
        if shoot is not None and shoot.uid == binding.pod_uid:
            return binding.pod
        pod = await self._get_pod(binding, seconds)
        if pod is not None:
            return extender.shoot_of_pod(pod.metadata.annotations)
        if shoot is None or binding.pod_uid:
            raise ExtenderError(f"there is neither a Pod nor a Shoot {binding.pod} of that uid")
        return binding.pod

    async def bind(self, shoot: ObjectKey, binding: ExtenderBindingArgs, seconds: float) -> None:
        """Assign the shoot to the seed, then bind the Pod; repeating either is no error."""
        try:
            await self._assign(shoot, binding.seed, seconds)
            if shoot != binding.pod or await self._get_pod(binding, seconds) is not None:
                await self._bind_pod(binding, seconds)
        except ApiError as error:
            raise ExtenderError(str(error)) from error
        finally:
            self._reservations.drop(shoot)

    async def _assign(self, key: ObjectKey, seed: str, seconds: float) -> None:
        shoot = self._cache.snapshot().get(Shoot, key)
        for _ in range(_ATTEMPTS):
            if shoot is None:
                shoot = await self._get_shoot(key, seconds)
            if shoot.spec.seed_name == seed:
                return
            if shoot.spec.seed_name:
                raise ExtenderError(f"shoot {key} is assigned to seed {shoot.spec.seed_name}")
            placed = await self._place(shoot, seed)
            if placed.result == "bound":
                return
            if placed.result != "changed":
                raise ExtenderError(placed.message)
            shoot = None  # it changed since the decision: read it again
        raise ExtenderError(f"shoot {key} keeps changing, try again")

    async def _place(self, shoot: Shoot, seed: str) -> Placed:
        scheduled = place(shoot, self._seed_table, self._cache.snapshot(), among=[seed])
        if scheduled.seed is None:
            step, rejection = scheduled.rejected.get(seed, ("", None))
            why = f"{step}: {rejection.reason}" if rejection else extender.UNKNOWN_SEED
            raise ExtenderError(f"seed {seed} does not fit any more: {why}")
        placed = await self._placer.place(Placement(shoot, seed, scheduled.weakened))
        if placed.result == "bound":
            message = f"placed on seed {seed} (profile {scheduled.profile})"
            self._emit(shoot, decision.SUCCESSFUL, message)
            if scheduled.weakened:
                self._emit(shoot, decision.WEAKENED, "; ".join(scheduled.notes), failed=True)
        return placed

    async def _bind_pod(self, binding: ExtenderBindingArgs, seconds: float) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": binding.seed}
        metadata = {"name": binding.pod.name, "namespace": binding.pod.namespace}
        if binding.pod_uid:
            metadata["uid"] = binding.pod_uid
        draft = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        request = requests.create(_POD, binding.pod, draft, subresource="binding")
        try:
            await self._client.document(request, seconds)
        except ConflictError:
            pod = await self._get_pod(binding, seconds)
            if pod is None or pod.spec.node_name != binding.seed:
                raise
        except NotFoundError:
            pass  # the bridge deleted the shadow Pod, because its shoot has a seed

    async def _get_pod(self, binding: ExtenderBindingArgs, seconds: float) -> Pod | None:
        try:
            body = await self._client.send(requests.get(_POD, binding.pod), seconds)
        except (NotFoundError, ForbiddenError):
            # Shadow Pods are in our own namespace; elsewhere it is perhaps a Shoot.
            return None
        except ApiError as error:
            raise ExtenderError(f"Pod {binding.pod} cannot be read: {error}") from error
        pod = decode(Pod, body)
        if binding.pod_uid and pod.uid != binding.pod_uid:
            raise ExtenderError(f"Pod {binding.pod} is not the one that was scheduled")
        return pod

    async def _get_shoot(self, key: ObjectKey, seconds: float) -> Shoot:
        try:
            return decode(Shoot, await self._client.send(requests.get(_SHOOT, key), seconds))
        except NotFoundError as error:
            raise ExtenderError(f"there is no shoot {key}") from error

    def _emit(self, shoot: Shoot, reason: Reason, message: str, *, failed: bool = False) -> None:
        self._recorder.emit(decision.event(shoot, reason, message, failed=failed))
