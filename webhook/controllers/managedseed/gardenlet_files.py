"""The files of a gardenlet's pods: its configuration and what the configuration refers to."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.kube.meta import Draft, Raw

CONFIG: Final = "gardenlet-config"
NAMES: Final = (
    (kind_of_model(ConfigMap), CONFIG),
    (kind_of_model(ConfigMap), "gardenlet-imagevector-overwrite"),
    (kind_of_model(ConfigMap), "gardenlet-imagevector-overwrite-components"),
    (kind_of_model(Secret), "gardenlet-kubeconfig-garden"),
    (kind_of_model(Secret), "gardenlet-kubeconfig-seed"),
)
"""The objects that hold files, to delete them with the gardenlet."""


class MountedFile(NamedTuple):
    """One file, the object that holds it, and the environment variable with its path, if any."""

    kind: Kind
    name: str
    """The name of the object and of the volume."""
    path: str
    content: str
    variable: str = ""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def key(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def volume(self) -> Draft:
        is_secret = self.kind.model is Secret
        source = {"secret": {"secretName": self.name}} if is_secret else _config_map(self.name)
        return {"name": self.name, **source}


def files(config: Raw, deployment: Raw) -> list[MountedFile]:
    """List the files of a gardenlet, its configuration first.

    A kubeconfig in the configuration may be a document instead of a path. It is mounted then, and
    the configuration refers to the file.
    """
    settled = dict(config)
    kubeconfigs = [*_kubeconfigs(settled)]
    text = msgspec.yaml.encode(settled).decode()
    kind, name = NAMES[0]
    mounted = MountedFile(kind, name, "/etc/gardenlet/config/config.yaml", text)
    return [mounted, *kubeconfigs, *_image_vectors(deployment)]


def _kubeconfigs(config: Draft) -> Iterator[MountedFile]:
    """Replace kubeconfigs in a configuration by paths and return their files."""
    for side, (kind, name) in zip(("garden", "seed"), NAMES[3:], strict=True):
        connection = dict(config.get(f"{side}ClientConnection") or {})
        document = connection.get("kubeconfig") or ""
        if "\n" in document:
            path = f"/etc/gardenlet/kubeconfig-{side}/kubeconfig"
            config[f"{side}ClientConnection"] = {**connection, "kubeconfig": path}
            yield MountedFile(kind, name, path, document)


def _image_vectors(deployment: Raw) -> Iterator[MountedFile]:
    components = "componentImageVectorOverwrite"
    images = deployment.get("imageVectorOverwrite")
    if images:
        path, variable = "/imagevector_overwrite/images_overwrite.yaml", "IMAGEVECTOR_OVERWRITE"
        yield MountedFile(*NAMES[1], path, images, variable)
    images = deployment.get(components) or deployment.get(f"{components}s")
    if images:
        path = "/imagevector_overwrite_components/components.yaml"
        yield MountedFile(*NAMES[2], path, images, "IMAGEVECTOR_OVERWRITE_COMPONENTS")


def _config_map(name: str) -> Draft:
    return {"configMap": {"name": name}}
