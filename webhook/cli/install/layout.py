"""Where and how Espalier is installed: the one value that all generators read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from webhook import __version__
from webhook.api import names
from webhook.api.meta import Draft

Part: TypeAlias = Literal["garden", "runtime", "all"]
"""`garden` is the cluster that holds the objects, `runtime` the one that runs the pods."""

NAME: Final = "espalier"
SERVING_PORT: Final = 9443
PLAIN_PORT: Final = 8080
GROUPS_PORT: Final = 9444
"""Where autoscalers are answered, once the role nodegroups is on."""
KUBECONFIG_SECRET: Final = "espalier-kubeconfig"  # noqa: S105 -- a name, no password


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One installation."""

    beside_gardener: bool = False
    part: Part = "all"
    namespace: str = "espalier-system"
    garden_namespace: str = names.GARDEN_NAMESPACE
    """Where managed seeds, default domains and distances of regions are."""
    image: str = f"espalier:{__version__}"
    replicas: int = 3
    advertise_url: str = ""
    """Where API servers reach a server that runs outside the cluster; no pods are made then."""
    monitoring: bool = False
    claimed: frozenset[str] = frozenset()
    """Names of APIServices that somebody else's server answers for."""

    @property
    def has_garden(self) -> bool:
        return self.part != "runtime"

    @property
    def has_pods(self) -> bool:
        return self.part != "garden" and not self.advertise_url

    @property
    def is_split(self) -> bool:
        """Whether pods reach the garden from another cluster, with a kubeconfig of their own."""
        return self.part == "runtime"


def labels() -> dict[str, str]:
    """Give the labels of everything that belongs to the installation."""
    return {names.APP_NAME: NAME, names.APP_PART_OF: NAME, names.MANAGED_BY: NAME}


def selector() -> dict[str, str]:
    """Give the labels by which pods are found; they never change."""
    return {names.APP_NAME: NAME, names.APP_COMPONENT: "server"}


def metadata(name: str, namespace: str = "", **more: Mapping[str, str]) -> Draft:
    """Give the metadata of an object of the installation."""
    found: Draft = {"name": name}
    if namespace:
        found["namespace"] = namespace
    found["labels"] = {**labels(), **more.get("labels", {})}
    if annotations := more.get("annotations"):
        found["annotations"] = dict(annotations)
    return found
