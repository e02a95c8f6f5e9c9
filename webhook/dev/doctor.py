"""Checks of the development tools for `espalier doctor`: kubectl, the real control planes, Go."""

import shutil
from collections.abc import Iterator

from webhook.cli.install.examine.machine import DoctorCheck
from webhook.dev.planes import binaries
from webhook.dev.planes.build import ToolError, find_go
from webhook.dev.planes.components import COMPONENTS, Component


def examine_development() -> Iterator[DoctorCheck]:
    """Check kubectl, each component of the real control planes, and Go if one is not built."""
    yield _kubectl()
    components = [component for component in COMPONENTS if component.folder.is_dir()]
    yield from map(_component, components)
    if any(binaries.missing(component) for component in components):
        yield _go(components)
    if not components:
        message = "no sources: the real control planes are built from a checkout"
        yield DoctorCheck("note", "real control planes", message)


def _kubectl() -> DoctorCheck:
    path = shutil.which("kubectl")
    if path:
        return DoctorCheck("ok", "kubectl", path)
    built = binaries.find("kubectl")
    if built:
        return DoctorCheck("ok", "kubectl", f"{built}, not on PATH: put its folder there to use it")
    return DoctorCheck("optional", "kubectl", "not found: install it, or run `make real`")


def _component(component: Component) -> DoctorCheck:
    subject = f"real {component.name}"
    if missing := binaries.missing(component):
        effect = "tests that need them are skipped"
        message = f"{', '.join(missing)} not built, {effect}: run `make real`"
        return DoctorCheck("optional", subject, message)
    return DoctorCheck("ok", subject, str(binaries.folder_of(component)))


def _go(components: list[Component]) -> DoctorCheck:
    try:
        return DoctorCheck("ok", "Go", find_go(components))
    except ToolError as error:
        return DoctorCheck("optional", "Go", str(error))
