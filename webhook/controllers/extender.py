"""What a kube-scheduler asks of us: which seeds, how good, and please bind."""

from typing import Any, Final

from webhook.api.core import Pod
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from webhook.controllers import scheduler
from webhook.controllers.ledgers import Remembering
from webhook.controllers.placement import Placed, Placement, Placer
from webhook.runtime.actions import Emit
from webhook.runtime.recorder import Recorder
from webhook.scheduling import explain, extender
from webhook.scheduling.extender import Binding, ExtenderError
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import Reservations
from webhook.state.snapshot import Snapshot

_POD: Final = kind_of_model(Pod)
_SHOOT: Final = kind_of_model(Shoot)
_ATTEMPTS: Final = 3


class Extending:
    """Answers schedulers and carries out what they decide."""

    def __init__(
        self, client: Client, cache: Remembering, placer: Placer, recorder: Recorder
    ) -> None:
        self._client = client
        self._cache = cache
        self._placer = placer
        self._recorder = recorder
        self._landscape = Landscape()
        self._reservations = Reservations()

    def filter(self, body: bytes, snapshot: Snapshot) -> bytes:
        answer = extender.filter_seeds(body, self._landscape, snapshot, self._reservations)
        self._reserve(answer, snapshot)
        if answer.shoot is not None and answer.refusal:
            told = f"Failed to schedule Shoot: {answer.refusal}"
            self._emit(answer.shoot, scheduler.FAILED, told, failed=True)
        return answer.body

    def prioritize(self, body: bytes, snapshot: Snapshot) -> bytes:
        answer = extender.prioritize(body, self._landscape, snapshot, self._reservations)
        self._reserve(answer, snapshot)
        return answer.body

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        found = snapshot.look_up(Shoot, shoot)
        if found is None:
            return None
        return explain.encode(explain.explain(found, self._landscape, snapshot))

    async def find_shoot(self, binding: Binding, seconds: float) -> ObjectKey:
        """Say which shoot a binding is about: the Pod's, or the one of that very name."""
        shoot = self._cache.snapshot().get(Shoot, binding.pod)
        if shoot is not None and shoot.uid == binding.pod_uid:
            return binding.pod
        pod = await self._get_pod(binding, seconds)
        if pod is not None:
            return extender.shoot_of_pod(pod.metadata.annotations)
        if shoot is None or binding.pod_uid:
            raise ExtenderError(f"there is neither a Pod nor a Shoot {binding.pod} of that uid")
        return binding.pod

    async def bind(self, shoot: ObjectKey, binding: Binding, seconds: float) -> None:
        """Assign the shoot, then bind the Pod; either being done already is success."""
        try:
            await self._assign(shoot, binding.seed, seconds)
            if shoot != binding.pod or await self._get_pod(binding, seconds) is not None:
                await self._bind_pod(binding, seconds)
        except ApiError as error:
            raise ExtenderError(str(error)) from error
        finally:
            self._reservations.drop(shoot)

    def _reserve(self, answer: extender.Answer, snapshot: Snapshot) -> None:
        if answer.shoot is None:
            return
        if answer.seed is None:
            self._reservations.drop(answer.shoot.key)
        elif answer.seed != answer.shoot.spec.seed_name:
            self._reservations.hold(answer.shoot, answer.seed, snapshot)

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
            shoot = None  # decided about an outdated shoot: look again
        raise ExtenderError(f"shoot {key} changes all the time, try again")

    async def _place(self, shoot: Shoot, seed: str) -> Placed:
        verdict = place(shoot, self._landscape, self._cache.snapshot(), among=[seed])
        if verdict.seed is None:
            step, rejection = verdict.rejected.get(seed, ("", None))
            why = f"{step}: {rejection.reason}" if rejection else extender.UNKNOWN_SEED
            raise ExtenderError(f"seed {seed} does not fit any more: {why}")
        placed = await self._placer.place(Placement(shoot, seed, verdict.weakened))
        if placed.result == "bound":
            told = f"placed on seed {seed} (profile {verdict.profile})"
            self._emit(shoot, scheduler.SUCCESSFUL, told)
            if verdict.weakened:
                self._emit(shoot, scheduler.WEAKENED, "; ".join(verdict.notes), failed=True)
        return placed

    async def _bind_pod(self, binding: Binding, seconds: float) -> None:
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
            pass  # the bridge has taken the shadow away: its shoot has its seed

    async def _get_pod(self, binding: Binding, seconds: float) -> Pod | None:
        try:
            body = await self._client.send(requests.get(_POD, binding.pod), seconds)
        except (NotFoundError, ForbiddenError):
            # Shadows are in our own namespace: where we may not look is none, but perhaps a Shoot.
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

    def _emit(self, shoot: Shoot, reason: str, message: str, *, failed: bool = False) -> None:
        self._recorder.emit(Emit(_SHOOT, shoot, reason, message, "Warning" if failed else "Normal"))
