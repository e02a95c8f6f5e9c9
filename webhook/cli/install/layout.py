"""Where and how Espalier is installed: the value that all generators read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from webhook import __version__
from webhook.api import names
from webhook.api.kinds import Kind
from webhook.domain import features
from webhook.domain.features import ALL_FEATURES, Feature
from webhook.domain.options import Options
from webhook.kube.meta import Draft
from webhook.runtime.leader_election import LeaseTiming
from webhook.settings import Owned, Settings
from webhook.wiring.shutdown import longest_stop

Part: TypeAlias = Literal["garden", "runtime", "all"]
"""`garden` is the cluster that holds the objects, `runtime` the one that runs the pods."""

InstallMode: TypeAlias = Literal[
    "standalone", "gardener", "own-managedseed", "own-managedseedset", "kube-scheduler"
]
"""What an installation does, as far as its permissions depend on it.

`gardener` is beside a Gardener, and `own-…` a controller that replaces Gardener's there;
`kube-scheduler` is an addition to any other. An installation in a seed is a standalone one with the
feature `node-groups` only.
"""

NAME: Final = "espalier"
SERVING_PORT: Final = 9443
PLAIN_PORT: Final = 8080
GROUPS_PORT: Final = 9444
"""The gRPC port for cluster-autoscalers, used if the role nodegroups is on."""
SETTINGS_MAP: Final = "espalier-settings"
"""The ConfigMap with the settings file of the server."""
CLIENT_CA_MAP: Final = "espalier-client-ca"
"""The optional ConfigMap with the CAs of schedulers and API servers, for settings to name."""
SETTINGS_KEY: Final = "settings.yaml"
KUBECONFIG_SECRET: Final = "espalier-kubeconfig"  # noqa: S105 -- a name, no password

_NO_SETTINGS: Final = "# Settings of `espalier serve`, see docs/reference/settings.md.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One installation."""

    beside_gardener: bool = False
    own: tuple[Owned, ...] = ()
    """Beside a Gardener: the controllers that replace Gardener's."""
    part: Part = "all"
    namespace: str = "espalier-system"
    garden_namespace: str = names.GARDEN_NAMESPACE
    """Holds managed seeds, default domains and region distances."""
    image: str = f"espalier:{__version__}"
    replicas: int = 3
    advertise_url: str = ""
    """The URL of a server that runs outside the cluster; then there are no pods."""
    api_servers: tuple[str, ...] = ()
    """The ip blocks from which API servers call; if it is empty, every source may call."""
    monitoring: bool = False
    features: frozenset[Feature] = ALL_FEATURES
    """The features to install, with those that they require."""
    claimed: frozenset[str] = frozenset()
    """Names of the APIServices that an aggregated API server serves."""
    settings_text: str = _NO_SETTINGS
    """The settings file of the server."""
    options: Options = field(default_factory=Options)
    """What decisions read of these settings."""
    stop_seconds: float = longest_stop(
        Settings.model_fields["drain_longest"].default, LeaseTiming()
    )
    """How long a pod of these settings takes to stop at most."""
    webhook_url: str = ""
    """The URL of these settings at which API servers call the pods, instead of the Service."""

    def defines(self, kind: Kind) -> bool:
        """Return whether one of the features needs a kind."""
        return features.needs(self.features, kind.model)

    @property
    def modes(self) -> frozenset[InstallMode]:
        """The modes of the installation; a permission is granted if one of them needs it."""
        if not self.beside_gardener:
            return frozenset(("standalone",))
        owned: dict[Owned, InstallMode] = {
            "managedseed": "own-managedseed",
            "managedseedset": "own-managedseedset",
        }
        return frozenset(("gardener", *(owned[each] for each in self.own)))

    @property
    def has_garden(self) -> bool:
        return self.part != "runtime"

    @property
    def has_pods(self) -> bool:
        return self.part != "garden" and not self.advertise_url

    @property
    def is_split(self) -> bool:
        """Whether pods run in another cluster than the garden and need a kubeconfig to reach it."""
        return self.part == "runtime"


def labels() -> dict[str, str]:
    """Return the labels of every object of the installation."""
    return {names.APP_NAME: NAME, names.APP_PART_OF: NAME, names.MANAGED_BY: NAME}


def selector() -> dict[str, str]:
    """Return the labels that select the pods; they never change."""
    return {names.APP_NAME: NAME, names.APP_COMPONENT: "server"}


def metadata(name: str, namespace: str = "", **more: Mapping[str, str]) -> Draft:
    """Return the metadata of an object of the installation."""
    found: Draft = {"name": name}
    if namespace:
        found["namespace"] = namespace
    found["labels"] = {**labels(), **more.get("labels", {})}
    if annotations := more.get("annotations"):
        found["annotations"] = dict(annotations)
    return found
