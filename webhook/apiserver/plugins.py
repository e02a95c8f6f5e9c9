"""The admission plugins of this server, in the order in which a Kubernetes API server runs them."""

from typing import Any

from webhook.api import status
from webhook.apiserver import decoding, scaling
from webhook.apiserver.admission import CREATE, Attributes, Chain
from webhook.apiserver.builtin import podadmission
from webhook.apiserver.calls import User
from webhook.apiserver.cel.authorizers import Authorizer, Question
from webhook.apiserver.core import Core
from webhook.apiserver.escalation import EscalationGuard
from webhook.apiserver.impersonation import ACCOUNTS, AUTHENTICATED
from webhook.apiserver.lookup import Lookup
from webhook.apiserver.namespaces import NamespaceLifecycle
from webhook.apiserver.rbac import ACCOUNT_PREFIX, Access, Rbac
from webhook.apiserver.resources import SCALE, Resource
from webhook.apiserver.reviewing import user_info
from webhook.apiserver.webhooks import hooks
from webhook.apiserver.webhooks.client import Client
from webhook.apiserver.webhooks.dispatch import Surroundings, Webhooks
from webhook.apiserver.webhooks.matching import Identity, Request

Object = dict[str, Any]


def chain(core: Core, rbac: Rbac, client: Client) -> Chain:
    """Put the plugins together."""
    pods = PodDefaults(core)
    around = Surroundings(
        describe=lambda attributes: describe(core, attributes),
        namespace=lambda name: Lookup(core).get("namespaces", "", name),
        authorizer=lambda attributes: authorizer(rbac, attributes.call.user),
        adopt=adopt,
        again=pods.mutate,
    )
    webhooks = Webhooks(
        hooks.Hooks(core, hooks.MUTATING), hooks.Hooks(core, hooks.VALIDATING), client, around
    )
    return Chain(NamespaceLifecycle(core), pods, webhooks, EscalationGuard(rbac))


class PodDefaults:
    """What several plugins of Kubernetes put into new pods."""

    def __init__(self, core: Core) -> None:
        self._reader = Lookup(core)

    async def mutate(self, attributes: Attributes) -> None:
        """Complete a new pod."""
        call = attributes.call
        is_pod = call.resource.storage == "pods" and not call.target.subresource
        if is_pod and attributes.operation == CREATE and attributes.obj is not None:
            podadmission.admit(attributes.obj, call.namespace, self._reader)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse nothing."""


def describe(core: Core, attributes: Attributes) -> Request:
    """Describe an operation as webhooks see it."""
    call = attributes.call
    resource, part = call.resource, call.target.subresource
    others = [
        other
        for other in core.registry
        if other.storage == resource.storage and other.version != resource.version
    ]
    obj, old = attributes.obj, attributes.old
    if part == SCALE:
        obj = None if obj is None else scaling.scale_of(call, obj)
        old = None if old is None else scaling.scale_of(call, old)
    namespace = call.target.namespace
    if resource.storage == "namespaces":
        namespace = attributes.name
    return Request(
        identity=_identity(resource, part),
        equivalents=tuple(_identity(other, part) for other in others),
        subresource=part,
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


def _identity(resource: Resource, part: str) -> Identity:
    body = resource.subresources.get(part)
    group, version, kind = resource.group, resource.version, resource.kind
    if body is not None and body.group_version is not None:
        group, version, kind = body.group_version.group, body.group_version.version, body.kind
    return Identity(resource.group, resource.version, resource.plural, group, version, kind)


def adopt(attributes: Attributes, patched: Object) -> None:
    """Take over what a webhook made of the object, read as if a client had sent it."""
    call, obj = attributes.call, attributes.obj
    if obj is None:
        return
    if call.target.subresource == SCALE:
        scaling.set_replicas(call, obj, (patched.get("spec") or {}).get("replicas", 0))
        return
    body = decoding.body_resource(call)
    if found := decoding.mistake(patched, body):
        raise status.internal_error(found.decoded)
    obj.clear()
    obj.update(patched)
    decoding.settle(obj, body)


def authorizer(rbac: Rbac, user: User) -> Authorizer:
    """Answer the questions that match conditions ask about access."""

    def ask(question: Question) -> tuple[bool, str]:
        who = user
        if question.service_account:
            namespace, _, name = question.service_account.partition("/")
            groups = (ACCOUNTS, f"{ACCOUNTS}:{namespace}", AUTHENTICATED)
            who = User(f"{ACCOUNT_PREFIX}{namespace}:{name}", groups)
        access = Access(
            question.verb,
            question.group,
            question.resource,
            question.subresource,
            question.namespace,
            question.name,
            question.path,
        )
        return rbac.decide(who, access)

    return ask
