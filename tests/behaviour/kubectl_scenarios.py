"""SCENARIOS: what users do with kubectl, command by command; the ids name their intent.

`{ns}` is the namespace of the scenario and `{group}` the group of its custom resource `widgets`.
"""

from typing import Any, NamedTuple

from tests.behaviour.bad_requests import config_map, deployment, widget

Manifest = dict[str, Any]


class Step(NamedTuple):
    """One call of kubectl; `-n {ns}` is added unless the step has a namespace."""

    command: str
    manifest: Manifest | list[Manifest] | None = None
    editor: str = ""
    """A sed script that replaces the editor."""


class Scenario(NamedTuple):
    """Steps that build on each other."""

    id: str
    steps: tuple[Step, ...]
    explains: bool = False
    """Whether it needs the documentation of widgets, which a real server has with a delay."""


def run(*steps: Step | str) -> tuple[Step, ...]:
    return tuple(step if isinstance(step, Step) else Step(step) for step in steps)


def owned(name: str, owner: str, kind: str = "ConfigMap", *, blocks: bool = False) -> Manifest:
    """An object whose owner's uid is inserted when the scenario runs."""
    reference: Manifest = {
        "apiVersion": "v1",
        "kind": kind,
        "name": owner,
        "uid": f"{{uid:{owner}}}",
    }
    if blocks:
        reference |= {"controller": True, "blockOwnerDeletion": True}
    return config_map(name, metadata={"ownerReferences": [reference]})


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{ns}-node"}}
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "event"},
    "involvedObject": {
        "apiVersion": "{group}/v1",
        "kind": "Widget",
        "name": "one",
        "namespace": "{ns}",
    },
    "reason": "Painted",
    "message": "The widget is red now",
    "type": "Normal",
    "count": 3,
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
    "source": {"component": "painter"},
}
POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
BOUND_POD = {
    **POD,
    "metadata": {"name": "pod", "labels": {"app": "a"}},
    "spec": {"nodeName": "{ns}-node", **POD["spec"]},
}
NEW_EVENT = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "new"},
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "reportingController": "painter",
    "reportingInstance": "painter-0",
    "action": "Paint",
    "reason": "Painted",
    "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "namespace": "{ns}"},
    "note": "The map is red now",
    "type": "Normal",
}
STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "set"},
    "spec": {**deployment()["spec"], "serviceName": "s", "replicas": 1},
}
NETWORK_POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "closed"},
    "spec": {
        "podSelector": {"matchLabels": {"app": "a"}},
        "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}],
    },
}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "lease"},
    "spec": {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.000001Z",
    },
}
REVISION = {
    "apiVersion": "apps/v1",
    "kind": "ControllerRevision",
    "metadata": {"name": "revision"},
    "revision": 3,
    "data": {"spec": {"any": ["thing"]}},
}
WEBHOOKS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "{ns}"},
    "webhooks": [
        {
            "name": "none.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://localhost:1/"},
            "rules": [
                {
                    "apiGroups": ["{group}"],
                    "apiVersions": ["*"],
                    "resources": ["nothing"],
                    "operations": ["CREATE"],
                }
            ],
        }
    ],
}
TOKEN_REVIEW = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenReview",
    "spec": {"token": "no.such.token"},
}


def review(kind: str, **spec: Any) -> Manifest:
    """A SubjectAccessReview about the ConfigMaps of the scenario."""
    attributes = {"namespace": "{ns}", "verb": "get", "resource": "configmaps"}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": kind,
        "spec": {"resourceAttributes": attributes, **spec},
    }


def gadget(version: str, name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": f"{{group}}/{version}",
        "kind": "Gadget",
        "metadata": {"name": name},
        "spec": spec,
    }


def _version(name: str, own: str, **more: Any) -> Manifest:
    """A version with one field that all versions have, and one of its own."""
    count = {"type": "integer", "default": 1}
    spec = {"type": "object", "properties": {"age": count, own: count}}
    return {
        "name": name,
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "additionalPrinterColumns": [
            {"name": name.title(), "type": "integer", "jsonPath": f".spec.{name}"}
            for name in ("age", own)
        ],
        **more,
    }


VERSIONED = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.{group}"},
    "spec": {
        "group": "{group}",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
        "versions": [
            _version("v1", "size", storage=True),
            _version("v1beta1", "years", deprecated=True),
            _version("v1alpha1", "size", served=False),
        ],
    },
}
ADD_WIDGET = Step("apply -f -", widget("one", spec={"parts": [{"name": "a", "count": 1}]}))

SCENARIOS = (
    Scenario(
        "a custom resource is applied, shown, changed and deleted",
        run(
            ADD_WIDGET,
            "get widgets.{group}",
            "get widgets.{group} -o wide",
            "get widgets.{group} -o name",
            "get widgets.{group} one -o yaml",
            "get widgets.{group} one -o json",
            "get widgets.{group} one -o jsonpath={.spec.size}",
            "get widgets.{group} -o custom-columns=N:.metadata.name,S:.spec.size",
            "describe widgets.{group} one",
            Step("diff -f -", widget("one", spec={"size": "large"})),
            Step("apply -f -", widget("one", spec={"size": "large"})),
            Step("apply -f -", widget("one", spec={"size": "large"})),
            "get widgets.{group} one -o yaml --show-managed-fields",
            "label widgets.{group} one colour=red",
            "label widgets.{group} one colour=blue",
            "label widgets.{group} one colour=blue --overwrite",
            "annotate widgets.{group} one note=hello",
            "get widgets.{group} -l colour=blue",
            "get widgets.{group} -L colour",
            "get widgets.{group} --show-labels",
            "scale widgets.{group} one --replicas=3",
            "scale widgets.{group} one --replicas=4 --current-replicas=9",
            'patch widgets.{group} one --type=merge -p {"spec":{"code":"abc"}}',
            'patch widgets.{group} one --type=json -p [{"op":"remove","path":"/spec/code"}]',
            'patch widgets.{group} one -p {"spec":{"code":"abc"}}',
            'patch widgets.{group} one --type=merge -p {"spec":{"size":"huge"}}',
            "patch widgets.{group} one --type=merge --subresource=status "
            '-p {"status":{"replicas":2}}',
            "get widgets.{group} one --subresource=scale -o yaml",
            "get widgets.{group} one --subresource=scale",
            "get widgets.{group} one -o yaml",
            "delete widgets.{group} one",
            "get widgets.{group} one",
            "get widgets.{group}",
        ),
    ),
    Scenario(
        "a bad custom resource is refused",
        run(
            Step("apply -f -", widget("one", spec={"size": "huge"})),
            Step("create -f -", widget("one", spec={"colour": "red"})),
            Step("create -f - --validate=warn", widget("one", spec={"colour": "red"})),
            Step("create -f - --validate=ignore", widget("two", spec={"colour": "red"})),
            Step("create -f -", widget("one")),
            Step("create -f - --dry-run=server -o yaml", widget("three")),
            Step("create -f -", {**widget("four"), "kind": "Gadget"}),
        ),
    ),
    Scenario(
        "fields have owners in server-side apply",
        run(
            Step(
                "apply --server-side --field-manager=a -f -",
                config_map("m", data={"x": "1", "y": "1"}),
            ),
            Step("apply --server-side --field-manager=b -f -", config_map("m", data={"x": "2"})),
            Step(
                "apply --server-side --field-manager=b --force-conflicts -f -",
                config_map("m", data={"x": "2"}),
            ),
            "get cm m -o yaml --show-managed-fields",
            Step("apply --server-side --field-manager=a -f -", config_map("m", data={"z": "1"})),
            "get cm m -o jsonpath={.data}",
            Step(
                "apply --server-side --field-manager=a -f -",
                widget("one", spec={"parts": [{"name": "a"}]}),
            ),
            Step(
                "apply --server-side --field-manager=b -f -",
                widget("one", spec={"parts": [{"name": "b"}]}),
            ),
            "get widgets.{group} one -o yaml --show-managed-fields",
            Step("apply --server-side --dry-run=server --field-manager=a -f -", widget("new")),
            "get widgets.{group} new",
        ),
    ),
    Scenario(
        "config maps and secrets",
        run(
            "create configmap m --from-literal=a=1 --from-literal=b=2",
            "create configmap m --from-literal=a=1",
            "get configmap m",
            "get configmap m -o yaml",
            "describe configmap m",
            Step("replace -f -", config_map("m", data={"a": "2"})),
            Step("replace -f -", config_map("m", metadata={"resourceVersion": "1"})),
            Step("edit configmap m", editor="s/a: .*/a: edited/"),
            Step("edit configmap m", editor="s/nothing/at all/"),
            'patch configmap m -p {"data":{"b":"3"}}',
            "get configmap m -o jsonpath={.data}",
            "create secret generic s --from-literal=password=hidden",
            "get secret s",
            "get secret s -o yaml",
            "describe secret s",
            "delete configmap/m secret/s",
        ),
    ),
    Scenario(
        "a deployment",
        run(
            "create deployment d --image=nginx --replicas=2",
            "get deployment d",
            "get deployment d -o wide",
            "get deployment d -o yaml",
            "describe deployment d",
            "set image deployment/d nginx=nginx:2",
            "set env deployment/d COLOUR=red",
            "scale deployment d --replicas=5",
            "patch deployment d -p "
            '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}',
            "get deployment d -o jsonpath={.spec.template.spec.containers[*].name}",
            "get deployment d -o jsonpath={.metadata.generation}",
            Step("apply -f -", deployment(replicas=1)),
            Step("apply -f -", deployment(replicas=2, container={"image": "j"})),
            "get all",
            "delete deployment d new",
        ),
    ),
    Scenario(
        "other built-in kinds are shown in their columns",
        run(
            Step("create -f -", POD),
            "get pods",
            "get pods -o wide",
            "get pod pod -o jsonpath={.spec.serviceAccountName}",
            "create service clusterip s --tcp=80:8080",
            "get service s",
            "create serviceaccount robot",
            "get serviceaccounts",
            "create role reader --verb=get,list --resource=configmaps",
            "get roles",
            "describe role reader",
            "create rolebinding reading --role=reader --user=eve",
            "get rolebindings -o wide",
            "create quota q --hard=pods=3",
            "create poddisruptionbudget b --selector=app=a --min-available=1",
            "get poddisruptionbudgets",
            "get namespace {ns}",
            "describe namespace {ns}",
            Step("create -f -", NODE),
            "get node {ns}-node",
            "cordon {ns}-node",
            "taint node {ns}-node colour=red:NoSchedule",
            "get node {ns}-node -o jsonpath={.spec.taints[*].key}",
            "delete node {ns}-node",
            "get crd widgets.{group}",
            "delete pod pod",
        ),
    ),
    Scenario(
        "waiting",
        run(
            ADD_WIDGET,
            "wait widgets.{group}/one --for=jsonpath={.spec.size}=small --timeout=60s",
            "wait widgets.{group}/one --for=condition=Ready --timeout=1s",
            "wait widgets.{group}/one --for=create --timeout=60s",
            "delete widgets.{group} one --wait=false",
            "wait widgets.{group}/one --for=delete --timeout=60s",
        ),
    ),
    Scenario(
        "explaining",
        run(
            "explain widgets --api-version={group}/v1",
            "explain widgets.spec --api-version={group}/v1",
            "explain widgets.spec.parts --api-version={group}/v1",
            "explain widgets --recursive --api-version={group}/v1",
            "explain configmap.data",
            "explain deployment.spec.replicas",
            "explain widgets.spec.nothing --api-version={group}/v1",
        ),
        explains=True,
    ),
    Scenario(
        "who may do what",
        run(
            "auth can-i create configmaps",
            "auth can-i '*' '*'",
            "auth can-i get configmaps --as=eve",
            "auth whoami -o yaml --as=eve --as-group=strangers",
            "get configmaps --as=eve",
            "create configmap m --from-literal=a=b --as=eve",
            "create role reader --verb=get,list --resource=configmaps",
            "create rolebinding reading --role=reader --user=eve",
            "auth can-i get configmaps --as=eve",
            "auth can-i delete configmaps --as=eve",
            "get configmaps --as=eve -l own",
            "delete configmap none --as=eve",
            "get configmaps -A --as=eve",
            "get widgets.{group} --as=eve",
        ),
    ),
    Scenario(
        "events",
        run(
            ADD_WIDGET,
            Step("create -f -", EVENT),
            "get events",
            "events",
            "events --for=widgets.{group}/one",
            "describe widgets.{group} one",
            "get events --field-selector=reason=Painted -o name",
            "get events --field-selector=involvedObject.name=other -o name",
        ),
    ),
    Scenario(
        "dependents go with their owner",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner")),
            "delete configmap owner --cascade=background",
            "wait configmap/child --for=delete --timeout=90s",
        ),
    ),
    Scenario(
        "an owner waits for its dependents",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner", blocks=True)),
            "patch configmap child --type=merge "
            '-p {"metadata":{"finalizers":["example.com/hold"]}}',
            "delete configmap owner --cascade=foreground --wait=false",
            "wait configmap/child --for=jsonpath={.metadata.deletionTimestamp} --timeout=90s",
            "get configmap owner -o jsonpath={.metadata.finalizers}",
            'patch configmap child --type=merge -p {"metadata":{"finalizers":null}}',
            "wait configmap/owner --for=delete --timeout=90s",
        ),
    ),
    Scenario(
        "orphans stay",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner")),
            "delete configmap owner --cascade=orphan",
            "get configmap child -o jsonpath={.metadata.ownerReferences}",
        ),
    ),
    Scenario(
        "finalizers hold an object",
        run(
            Step("create -f -", widget("one", metadata={"finalizers": ["example.com/hold"]})),
            Step("create -f -", widget("two", metadata={"finalizers": ["hold"]})),
            "delete widgets.{group} one --wait=false",
            "get widgets.{group} one -o jsonpath={.metadata.deletionGracePeriodSeconds}",
            "delete widgets.{group} one --wait=false",
            'patch widgets.{group} one --type=merge -p {"metadata":{"finalizers":["a.com/b"]}}',
            'patch widgets.{group} one --type=merge -p {"metadata":{"finalizers":null}}',
            "get widgets.{group} one",
            "patch widgets.{group} two --type=json "
            '-p [{"op":"remove","path":"/metadata/finalizers"}]',
            "delete widgets.{group} --all",
        ),
    ),
    Scenario(
        "many at once",
        run(
            Step(
                "create -f -",
                [
                    config_map(f"m{number}", metadata={"labels": {"own": str(number)}})
                    for number in range(4)
                ],
            ),
            "get configmaps -l own -o name",
            "get configmaps -l own --chunk-size=1 -o name",
            "get configmaps -l own --sort-by=.metadata.labels.own -o name",
            "get configmaps -l 'own in (1,2)' -o name",
            "get configmaps --field-selector=metadata.name=m3 -o name",
            "get configmaps m0 m1 gone -o name",
            "label configmaps -l own round=yes",
            "delete configmaps -l own",
        ),
    ),
    Scenario(
        "names that the server makes up",
        run(
            Step(
                "create -f -",
                {**config_map(), "metadata": {"generateName": "made-", "labels": {"own": ""}}},
            ),
            "get configmaps -l own -o jsonpath={.items[0].metadata.generateName}",
        ),
    ),
    Scenario(
        "built-in kinds are described",
        run(
            Step("create -f -", POD),
            "describe pod pod",
            "delete pod pod",
            "create service clusterip s --tcp=80:8080",
            "describe service s",
            Step("create -f -", NODE),
            "describe node {ns}-node",
            "delete node {ns}-node",
            Step("create -f -", STATEFUL_SET),
            "describe statefulset set",
            "create serviceaccount robot",
            "describe serviceaccount robot",
            "create role reader --verb=get,list --resource=configmaps",
            "create rolebinding reading --role=reader --serviceaccount={ns}:robot",
            "describe rolebinding reading",
            "create poddisruptionbudget b --selector=app=a --max-unavailable=50%",
            "describe poddisruptionbudget b --show-events=false",
            Step("create -f -", NETWORK_POLICY),
            "describe networkpolicy closed",
            "autoscale statefulset set --min=1 --max=3 --cpu-percent=80",
            "describe horizontalpodautoscaler set",
            Step("create -f -", LEASE),
            "describe lease lease",
            "describe crd widgets.{group}",
        ),
    ),
    Scenario(
        "all other built-in kinds are shown in their columns",
        run(
            Step("create -f -", STATEFUL_SET),
            "get statefulsets",
            "scale statefulset set --replicas=2",
            "get statefulset set -o wide",
            Step("create -f -", REVISION),
            "get controllerrevisions",
            Step("create -f -", NETWORK_POLICY),
            "get networkpolicies",
            "autoscale statefulset set --min=1 --max=3 --cpu-percent=80",
            "get horizontalpodautoscalers",
            Step("create -f -", LEASE),
            "get leases",
            "create secret generic s --from-literal=a=b",
            "get secrets",
            "create clusterrole {ns} --verb=get --resource=nodes",
            "get clusterrole {ns}",
            "create clusterrolebinding {ns} --clusterrole={ns} --group=readers",
            "get clusterrolebinding {ns} -o wide",
            "delete clusterrole/{ns} clusterrolebinding/{ns}",
            Step("create -f -", WEBHOOKS),
            "get validatingwebhookconfiguration {ns}",
            "get validatingwebhookconfiguration {ns} -o yaml",
            "delete validatingwebhookconfiguration {ns}",
        ),
    ),
    Scenario(
        "what somebody may do is listed",
        run(
            "auth can-i --list --as=eve",
            "create role reader --verb=get,list --resource=configmaps",
            "create role one --verb=update --resource=secrets --resource-name=key",
            "create rolebinding reading --role=reader --user=eve",
            "create rolebinding writing --role=one --user=eve",
            "auth can-i --list --as=eve",
            "auth can-i update secret/key --as=eve",
            "auth can-i update secret/other --as=eve",
            "auth can-i get /metrics --as=eve",
            "auth can-i get pods --subresource=log --as=eve",
            Step("create -f - -o yaml", review("SelfSubjectAccessReview")),
            Step("create -f - -o yaml", review("SubjectAccessReview", user="eve")),
            Step("create -f - -o yaml", review("SubjectAccessReview", user="bob")),
            Step("create -f - -o yaml", TOKEN_REVIEW),
        ),
    ),
    Scenario(
        "an event is one in both of its groups",
        run(
            Step("create -f -", EVENT),
            "get events.events.k8s.io",
            "get events.events.k8s.io event -o yaml",
            Step("create -f -", NEW_EVENT),
            "get events.v1. new -o yaml",
            "get events.events.k8s.io new -o yaml",
            "get events -o name",
            "events",
            "get events.events.k8s.io --field-selector=reason=Painted -o name",
            "get events.events.k8s.io --field-selector=regarding.name=two -o name",
            'patch events.events.k8s.io event --type=merge -p {"note":"Blue"}',
            "get events.v1. event -o jsonpath={.message}",
            "delete events.events.k8s.io event",
            "get events -o name",
        ),
    ),
    Scenario(
        "a resource of several versions",
        run(
            Step("create -f -", VERSIONED),
            "wait crd/gadgets.{group} --for=condition=Established --timeout=60s",
            Step("create -f -", gadget("v1", "new", age=3)),
            Step("create -f -", gadget("v1beta1", "old", years=3)),
            Step("create -f -", gadget("v1beta1", "bad", size=3)),
            Step("create -f -", gadget("v1alpha1", "gone")),
            "get gadgets.v1.{group}",
            "get gadgets.v1beta1.{group}",
            "get gadgets.v1.{group} old -o yaml",
            "get gadgets.v1beta1.{group} new -o yaml",
            'patch gadgets.v1beta1.{group} new --type=merge -p {"metadata":{"labels":{"a":"b"}}}',
            "get gadgets.v1.{group} new -o yaml --show-managed-fields",
            "get crd gadgets.{group} -o jsonpath={.status.storedVersions}",
            "delete crd gadgets.{group}",
        ),
    ),
    Scenario(
        "built-in kinds are explained",
        run(
            "explain configmap",
            "explain pod",
            "explain pod.spec.containers.resources",
            "explain deployment.spec.strategy",
            "explain service.spec.ports",
            "explain lease.spec",
            "explain customresourcedefinition.spec.names",
            "explain horizontalpodautoscaler.spec.metrics.resource",
            "explain clusterrole --recursive",
            "explain events --api-version=events.k8s.io/v1",
        ),
    ),
    Scenario(
        "everything that was applied can be changed",
        run(
            ADD_WIDGET,
            "apply view-last-applied widgets.{group} one",
            Step("edit widgets.{group} one", editor="s/size: small/size: large/"),
            Step("edit widgets.{group} one", editor="s/size: large/size: huge/"),
            Step("replace -f -", widget("one", spec={"size": "small"})),
            Step("replace --force -f -", widget("one", spec={"size": "small"})),
            Step("replace -f -", widget("none")),
            "annotate widgets.{group} one note=a",
            "annotate widgets.{group} one note-",
            "label widgets.{group} one colour=red",
            "label widgets.{group} one colour-",
            "label widgets.{group} one bad/key/=x",
            Step("diff --server-side -f -", widget("one", spec={"size": "large"})),
            Step("apply --dry-run=server -f -", widget("one", spec={"size": "large"})),
            "create deployment d --image=nginx",
            "rollout restart deployment d",
            "rollout pause deployment d",
            "set resources deployment d --limits=cpu=1",
            'patch deployment d --type=strategic -p {"spec":{"template":{"spec":'
            '{"containers":[{"$patch":"replace"},{"name":"only","image":"o"}]}}}}',
            "get deployment d -o jsonpath={.spec.template.spec.containers}",
            'patch deployment d --subresource=scale --type=merge -p {"spec":{"replicas":7}}',
            "get deployment d --subresource=scale",
            "delete deployment d --cascade=foreground --timeout=90s",
        ),
    ),
    Scenario(
        "pods are evicted unless a budget forbids it",
        run(
            Step("create -f -", NODE),
            Step("create -f -", BOUND_POD),
            "create poddisruptionbudget b --selector=app=a --min-available=1",
            "wait poddisruptionbudget/b --for=jsonpath={.status.expectedPods}=1 --timeout=90s",
            "drain {ns}-node --force --grace-period=0 --timeout=4s",
            "delete poddisruptionbudget b",
            "drain {ns}-node --force --grace-period=0 --timeout=90s",
            "get pods",
            "uncordon {ns}-node",
            "delete node {ns}-node",
        ),
    ),
)
