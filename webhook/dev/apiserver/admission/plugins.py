"""The admission plugins of this server, in the order of kube-apiserver."""

from webhook.dev.apiserver.admission.chain import CREATE, Attributes, Chain
from webhook.dev.apiserver.admission.namespacelifecycle import NamespaceLifecycle
from webhook.dev.apiserver.auth.accessreviews import user_info
from webhook.dev.apiserver.auth.escalation import EscalationGuard
from webhook.dev.apiserver.auth.impersonation import ACCOUNTS, AUTHENTICATED
from webhook.dev.apiserver.auth.rbac import ACCOUNT_PREFIX, AccessAttributes, Rbac
from webhook.dev.apiserver.builtin import podadmission
from webhook.dev.apiserver.cel.authorizers import AccessQuery, Authorizer
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import decoding
from webhook.dev.apiserver.endpoints.calls import User
from webhook.dev.apiserver.registry.resources import SCALE, Resource
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.dev.apiserver.verbs import scale
from webhook.dev.apiserver.webhooks import configurations
from webhook.dev.apiserver.webhooks.client import WebhookClient
from webhook.dev.apiserver.webhooks.dispatcher import DispatcherDependencies, WebhookDispatcher
from webhook.dev.apiserver.webhooks.matching import AdmissionRequest, VersionedResource
from webhook.kube import status
from webhook.kube.meta import Draft


def chain(core: Core, rbac: Rbac, client: WebhookClient) -> Chain:
    """Return the chain of all plugins."""
    pods = PodDefaulter(core)
    dependencies = DispatcherDependencies(
        describe=lambda attributes: build_request(core, attributes),
        get_namespace=lambda name: StoreReader(core).get("namespaces", "", name),
        authorizer_for=lambda attributes: authorizer(rbac, attributes.call.user),
        replace_object=replace_object,
        reinvoke_plugins=pods.mutate,
    )
    webhooks = WebhookDispatcher(
        configurations.WebhookSource(core, configurations.MUTATING),
        configurations.WebhookSource(core, configurations.VALIDATING),
        client,
        dependencies,
    )
    return Chain(NamespaceLifecycle(core), pods, webhooks, EscalationGuard(rbac))


class PodDefaulter:
    """Defaults new pods, as several plugins of Kubernetes do together."""

    def __init__(self, core: Core) -> None:
        self._reader = StoreReader(core)

    async def mutate(self, attributes: Attributes) -> None:
        """Default a new pod."""
        call = attributes.call
        is_pod = call.resource.storage == "pods" and not call.info.subresource
        if is_pod and attributes.operation == CREATE and attributes.obj is not None:
            podadmission.admit(attributes.obj, call.namespace, self._reader)

    async def validate(self, attributes: Attributes) -> None:
        """Validate nothing."""


def build_request(core: Core, attributes: Attributes) -> AdmissionRequest:
    """Return the AdmissionRequest of an operation."""
    call = attributes.call
    resource, subresource = call.resource, call.info.subresource
    equivalents = tuple(
        _versioned_resource(other, subresource)
        for other in core.registry
        if other.storage == resource.storage and other.version != resource.version
    )
    obj, old = attributes.obj, attributes.old
    if subresource == SCALE:
        obj = None if obj is None else scale.scale_of(call, obj)
        old = None if old is None else scale.scale_of(call, old)
    namespace = call.info.namespace
    if resource.storage == "namespaces":
        namespace = attributes.name
    return AdmissionRequest(
        resource=_versioned_resource(resource, subresource),
        equivalents=equivalents,
        subresource=subresource,
        operation=attributes.operation,
        name=attributes.name,
        namespace=namespace,
        obj=obj,
        old=old,
        options=attributes.options,
        user=user_info(call.user),
        dry_run=attributes.dry_run,
        namespaced=resource.namespaced,
    )


def _versioned_resource(resource: Resource, subresource: str) -> VersionedResource:
    body = resource.subresources.get(subresource)
    group, version, kind = resource.group, resource.version, resource.kind
    if body is not None and body.group_version is not None:
        group, version, kind = body.group_version.group, body.group_version.version, body.kind
    return VersionedResource(
        resource.group, resource.version, resource.plural, group, version, kind
    )


def replace_object(attributes: Attributes, patched: Draft) -> None:
    """Replace the object by the patched one, decoded as if a client had sent it."""
    call, obj = attributes.call, attributes.obj
    if obj is None:
        return
    if call.info.subresource == SCALE:
        scale.set_replicas(call, obj, (patched.get("spec") or {}).get("replicas", 0))
        return
    body = decoding.body_resource(call)
    if found := decoding.find_type_mismatch(patched, body):
        raise status.internal_error(found.decode_error)
    obj.clear()
    obj.update(patched)
    decoding.prune_and_default(obj, body)


def authorizer(rbac: Rbac, user: User) -> Authorizer:
    """Return the authorizer that match conditions of webhooks use."""

    def authorize(query: AccessQuery) -> tuple[bool, str]:
        subject = user
        if query.service_account:
            namespace, _, name = query.service_account.partition("/")
            groups = (ACCOUNTS, f"{ACCOUNTS}:{namespace}", AUTHENTICATED)
            subject = User(f"{ACCOUNT_PREFIX}{namespace}:{name}", groups)
        access = AccessAttributes(
            query.verb,
            query.group,
            query.resource,
            query.subresource,
            query.namespace,
            query.name,
            query.path,
        )
        return rbac.decide(subject, access)

    return authorize
