"""shoot.identity: new shoots have names, projects and finalizers that Gardener accepts."""

from collections.abc import Iterator

from webhook.admission.decision import TOO_LONG, Finding, Request
from webhook.admission.rules import shoot_names
from webhook.api import names
from webhook.api.projects import Project
from webhook.api.shoots import Shoot
from webhook.kube import identifiers
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate name and project, which never change, and finalizers that only controllers add."""
    metadata = request.object_as(Shoot).metadata
    for error in identifiers.dns1123_label_errors(request.key.name) if request.key.name else ():
        yield Finding.invalid("metadata.name", request.key.name, error)
    for index, finalizer in enumerate(metadata.finalizers):
        if finalizer == names.GARDENER_FINALIZER:
            yield Finding.forbidden(
                f"metadata.finalizers[{index}]", "is added by controllers only, remove it"
            )
    project = shoot_names.project_of(request.key.namespace, snapshot)
    if project is None:
        yield Finding.denied(
            f"namespace {request.key.namespace} belongs to no project, use one that does",
            "metadata.namespace",
        )
    else:
        yield from _in_project(project, request.key.name, metadata.generate_name)


def _in_project(project: Project, name: str, prefix: str) -> Iterator[Finding]:
    if project.is_deleting:
        yield Finding.denied(f"project {project.name} is being deleted", "metadata.namespace")
    field = "metadata.generateName" if prefix else "metadata.name"
    written, reserved = (prefix, shoot_names.GENERATED_LENGTH) if prefix else (name, 0)
    limit = shoot_names.MAX_LENGTH - reserved - len(project.name)
    if len(written) > limit:
        yield Finding(
            field,
            f"may not be more than {max(0, limit)} characters in project {project.name}",
            TOO_LONG,
            written,
        )
