"""STORIES: what people do with kubectl, command by command; the ids read as what they want.

`{ns}` is the story's own namespace and `{group}` the group of its custom resource `widgets`.
"""

from typing import Any, NamedTuple

from tests.behaviour.bad_requests import config_map, deployment, widget

Manifest = dict[str, Any]


class Step(NamedTuple):
    """One call of kubectl; `-n {ns}` is added unless the step says where it is."""

    command: str
    manifest: Manifest | list[Manifest] | None = None
    editor: str = ""
    """A sed script that plays the editor."""


class Story(NamedTuple):
    """Steps that build on each other."""

    id: str
    steps: tuple[Step, ...]
    explains: bool = False
    """Whether it needs the documentation of widgets, which a real server has a little later."""


def run(*steps: Step | str) -> tuple[Step, ...]:
    return tuple(step if isinstance(step, Step) else Step(step) for step in steps)


def owned(name: str, owner: str, kind: str = "ConfigMap", *, blocks: bool = False) -> Manifest:
    """An object whose owner's uid is put in when the story runs."""
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
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
ADD_WIDGET = Step("apply -f -", widget("one", spec={"parts": [{"name": "a", "count": 1}]}))

STORIES = (
    Story(
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
            "get widgets.{group} one -o yaml",
            "delete widgets.{group} one",
            "get widgets.{group} one",
            "get widgets.{group}",
        ),
    ),
    Story(
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
    Story(
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
    Story(
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
    Story(
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
    Story(
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
    Story(
        "waiting",
        run(
            ADD_WIDGET,
            "wait widgets.{group}/one --for=jsonpath={.spec.size}=small --timeout=5s",
            "wait widgets.{group}/one --for=condition=Ready --timeout=1s",
            "wait widgets.{group}/one --for=create --timeout=5s",
            "delete widgets.{group} one --wait=false",
            "wait widgets.{group}/one --for=delete --timeout=5s",
        ),
    ),
    Story(
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
    Story(
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
    Story(
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
    Story(
        "dependents go with their owner",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner")),
            "delete configmap owner --cascade=background",
            "wait configmap/child --for=delete --timeout=20s",
        ),
    ),
    Story(
        "an owner waits for its dependents",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner", blocks=True)),
            "patch configmap child --type=merge "
            '-p {"metadata":{"finalizers":["example.com/hold"]}}',
            "delete configmap owner --cascade=foreground --wait=false",
            "wait configmap/child --for=jsonpath={.metadata.deletionTimestamp} --timeout=20s",
            "get configmap owner -o jsonpath={.metadata.finalizers}",
            'patch configmap child --type=merge -p {"metadata":{"finalizers":null}}',
            "wait configmap/owner --for=delete --timeout=20s",
        ),
    ),
    Story(
        "orphans stay",
        run(
            Step("create -f -", config_map("owner")),
            Step("create -f -", owned("child", "owner")),
            "delete configmap owner --cascade=orphan",
            "get configmap child -o jsonpath={.metadata.ownerReferences}",
        ),
    ),
    Story(
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
    Story(
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
    Story(
        "names that the server makes up",
        run(
            Step(
                "create -f -",
                {**config_map(), "metadata": {"generateName": "made-", "labels": {"own": ""}}},
            ),
            "get configmaps -l own -o jsonpath={.items[0].metadata.generateName}",
        ),
    ),
)
