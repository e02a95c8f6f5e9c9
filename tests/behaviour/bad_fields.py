"""BAD_FIELDS: built-in objects that are valid but for one field, one row each.

The kinds are those that the manifests, the controllers and the tests write.
"""

import copy
from collections.abc import Mapping
from typing import Any

from tests.behaviour.bad_requests import (
    DEFINITIONS,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SECRETS,
    SERVICES,
    Bad,
    definition,
)

LABELS = {"app": "a"}
SELECTOR = {"matchLabels": LABELS}
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
SUBJECT = {"kind": "ServiceAccount", "name": "s", "namespace": "default"}
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
RBAC = "rbac.authorization.k8s.io"
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com/a"},
    "rules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}

BASES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "ConfigMap": (MAPS, {"data": {"a": "b"}}),
    "Secret": (SECRETS, {"data": {"a": "Yg=="}}),
    "Pod": (PODS, {"spec": POD_SPEC}),
    "Service": (SERVICES, {"spec": {"selector": LABELS, "ports": [{"port": 443}]}}),
    "ServiceAccount": ("/api/v1/namespaces/{ns}/serviceaccounts", {}),
    "Namespace": ("/api/v1/namespaces", {}),
    "Deployment": (
        DEPLOYMENTS,
        {"spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}},
    ),
    "StatefulSet": (
        "/apis/apps/v1/namespaces/{ns}/statefulsets",
        {"spec": {"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}},
    ),
    "NetworkPolicy": (
        "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
        {
            "spec": {
                "podSelector": SELECTOR,
                "policyTypes": ["Ingress"],
                "ingress": [
                    {
                        "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
                        "ports": [{"port": 443, "protocol": "TCP"}],
                    }
                ],
            }
        },
    ),
    "PodDisruptionBudget": (
        "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        {"spec": {"selector": SELECTOR, "minAvailable": 1}},
    ),
    "HorizontalPodAutoscaler": (
        "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "minReplicas": 1,
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 50},
                        },
                    }
                ],
            }
        },
    ),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 5}),
    "Lease": (
        "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    ),
    "Role": (f"/apis/{RBAC}/v1/namespaces/{{ns}}/roles", {"rules": [RULE]}),
    "ClusterRole": (f"/apis/{RBAC}/v1/clusterroles", {"rules": [RULE]}),
    "RoleBinding": (
        f"/apis/{RBAC}/v1/namespaces/{{ns}}/rolebindings",
        {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"}, "subjects": [SUBJECT]},
    ),
    "ClusterRoleBinding": (
        f"/apis/{RBAC}/v1/clusterrolebindings",
        {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"}, "subjects": [SUBJECT]},
    ),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        {"webhooks": [HOOK]},
    ),
    "APIService": (
        "/apis/apiregistration.k8s.io/v1/apiservices",
        {
            "spec": {
                "group": "example.com",
                "version": "v1",
                "groupPriorityMinimum": 10,
                "versionPriority": 10,
                "service": {"name": "s", "namespace": "default"},
                "insecureSkipTLSVerify": True,
            }
        },
    ),
    "Event": (
        "/api/v1/namespaces/{ns}/events",
        {
            "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
            "type": "Normal",
            "reason": "R",
        },
    ),
    "ResourceQuota": (
        "/api/v1/namespaces/{ns}/resourcequotas",
        {"spec": {"hard": {"pods": "1"}}},
    ),
}
NAMES = {"APIService": "v1.example.com", "Role": "r"}


def bad(fault: str, kind: str, **fields: Any) -> Bad:
    """A request to create an object with other values of fields.

    `__` in a name separates the parts of a path; `i0` is the first item of a list.
    """
    path, base = BASES[kind]
    obj = copy.deepcopy(base)
    obj["metadata"] = {"name": NAMES.get(kind, "new")}
    for name, value in fields.items():
        _put(obj, name.split("__"), value)
    return Bad(fault, "POST", path, obj, {"dryRun": "All"})


def _put(holder: Any, parts: list[str], value: Any) -> None:
    for index, part in enumerate(parts[:-1]):
        if isinstance(holder, list):
            holder = holder[int(part[1:])]
        else:
            default: Any = [{}] if parts[index + 1][1:].isdigit() else {}
            holder = holder.setdefault(part, default)
    last = parts[-1]
    if isinstance(holder, list):
        holder[int(last[1:])] = value
    else:
        holder[last] = value


def bad_schema(fault: str, **spec_schema: Any) -> Bad:
    """A CustomResourceDefinition whose `spec` has this schema."""
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", **spec_schema}},
    }
    body = definition(version={"schema": {"openAPIV3Schema": schema}})
    return Bad(fault, "POST", DEFINITIONS, body, {"dryRun": "All"})


def bad_rule(fault: str, rule: str, **more: Any) -> Bad:
    """A CustomResourceDefinition whose `spec` has this validation rule."""
    return bad_schema(
        fault,
        properties={
            "name": {"type": "string"},
            "size": {"type": "integer"},
            "flag": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "parts": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            "short": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
            "table": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        **{"x-kubernetes-validations": [{"rule": rule, **more}]},
    )


BAD_FIELDS = (
    # CustomResourceDefinitions: defaults, list types, conversion.
    bad_schema(
        "a default of the wrong type", properties={"size": {"type": "integer", "default": "x"}}
    ),
    bad_schema(
        "a default out of bounds",
        properties={"size": {"type": "integer", "minimum": 3, "default": 1}},
    ),
    bad_schema(
        "a default that is not in the enumeration",
        properties={"size": {"type": "string", "enum": ["a"], "default": "b"}},
    ),
    bad_schema(
        "a default with an unknown field",
        properties={
            "part": {"type": "object", "default": {"b": 1}, "properties": {"a": {"type": "string"}}}
        },
    ),
    bad_schema(
        "a list of type map without keys",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            }
        },
    ),
    bad_schema(
        "a list of type map with an unknown key",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                },
            }
        },
    ),
    bad_schema(
        "a list of type map with an optional key",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            }
        },
    ),
    bad_schema(
        "a list of type map of texts",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "string"},
            }
        },
    ),
    bad_schema(
        "keys for a list of type set",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "string"},
            }
        },
    ),
    bad_schema(
        "an unknown type of list",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "ring",
                "items": {"type": "string"},
            }
        },
    ),
    bad_schema(
        "a type of list for an object",
        properties={"part": {"type": "object", "x-kubernetes-list-type": "atomic"}},
    ),
    bad_schema(
        "an unknown type of map",
        properties={"part": {"type": "object", "x-kubernetes-map-type": "ring"}},
    ),
    bad_schema(
        "a set of objects",
        properties={
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
            }
        },
    ),
    bad_schema("an unknown type of field", properties={"size": {"type": "whole"}}),
    bad_schema(
        "properties and additional properties",
        properties={
            "size": {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            }
        },
    ),
    bad_schema(
        "a list with unique items",
        properties={"parts": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}},
    ),
    bad_schema("a reference in a schema", properties={"size": {"type": "string", "$ref": "#/a"}}),
    Bad(
        "a conversion by webhook without a webhook",
        "POST",
        DEFINITIONS,
        definition(conversion={"strategy": "Webhook"}),
        {"dryRun": "All"},
    ),
    Bad(
        "a conversion by webhook without review versions",
        "POST",
        DEFINITIONS,
        definition(
            conversion={
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"url": "https://a.example.com/"}},
            }
        ),
        {"dryRun": "All"},
    ),
    Bad(
        "a conversion by webhook at no address",
        "POST",
        DEFINITIONS,
        definition(
            conversion={
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}},
            }
        ),
        {"dryRun": "All"},
    ),
    Bad(
        "a conversion without need of its webhook",
        "POST",
        DEFINITIONS,
        definition(
            conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}
        ),
        {"dryRun": "All"},
    ),
    Bad(
        "an unknown conversion",
        "POST",
        DEFINITIONS,
        definition(conversion={"strategy": "Magic"}),
        {"dryRun": "All"},
    ),
    Bad(
        "a preserved definition",
        "POST",
        DEFINITIONS,
        definition(preserveUnknownFields=True),
        {"dryRun": "All"},
    ),
    # CustomResourceDefinitions: validation rules.
    bad_rule("a rule with a fault of syntax", "self.size >"),
    bad_rule("a rule with an unknown field", "self.colour == 'red'"),
    bad_rule("a rule with an unknown variable", "size > 1"),
    bad_rule("a rule with an unknown function", "paint(self.name)"),
    bad_rule("a rule that compares types", "self.size == 'x'"),
    bad_rule("a rule that is no truth", "self.size"),
    bad_rule("a rule that adds types", "self.size + self.name == 'x'"),
    bad_rule("a rule on an item's unknown field", "self.parts.all(p, p.colour == 'red')"),
    bad_rule("a rule on an item's type", "self.tags.all(t, t > 1)"),
    bad_rule(
        "a rule that costs too much",
        "self.tags.all(a, self.tags.all(b, self.tags.all(c, a != b || b != c)))",
    ),
    bad_rule(
        "a rule that costs too much for each part", "self.parts.all(p, p.name.contains(self.name))"
    ),
    bad_rule("a rule that selects a field of a text", "self.name.first == 'a'"),
    bad_rule("a rule that compares a value of a map", "self.table.all(k, self.table[k] == 'x')"),
    bad_rule("a rule with a message of a fault", "self.size > 1", messageExpression="self.colour"),
    bad_rule("a rule without text", ""),
    bad_rule("a rule with an unknown reason", "self.size > 1", reason="Because"),
    bad_rule("a rule with a message of two lines", "self.size > 1", message="a\nb"),
    bad_rule("a rule with an empty message", "self.size > 1", message="   "),
    bad_rule(
        "a rule with a message that is no text", "self.size > 1", messageExpression="self.size"
    ),
    bad_rule("a rule with an unknown path", "self.size > 1", fieldPath=".colour"),
    # Metadata and plain kinds.
    bad("a finalizer without a domain", "ConfigMap", metadata__finalizers=["stay"]),
    bad("a binary key that is in data too", "ConfigMap", binaryData={"a": "Yg=="}),
    bad(
        "a secret of a certificate without its key",
        "Secret",
        type="kubernetes.io/tls",
        data={"tls.crt": ""},
    ),
    bad(
        "a service account's secret without an account",
        "Secret",
        type="kubernetes.io/service-account-token",
    ),
    bad(
        "a docker secret that is no JSON",
        "Secret",
        type="kubernetes.io/dockerconfigjson",
        data={".dockerconfigjson": "eA=="},
    ),
    bad("a namespace with an unknown finalizer", "Namespace", spec__finalizers=["stay"]),
    # Pods.
    bad("a pod of a negative user", "Pod", spec__securityContext={"runAsUser": -1}),
    bad(
        "a container of a negative user",
        "Pod",
        spec__containers__i0__securityContext={"runAsUser": -1},
    ),
    bad("a pod of a negative group", "Pod", spec__securityContext={"fsGroup": -1}),
    bad("a pod without DNS of its own", "Pod", spec__dnsPolicy="None"),
    bad("an unknown DNS policy", "Pod", spec__dnsPolicy="Magic"),
    bad("an unknown restart policy", "Pod", spec__restartPolicy="Sometimes"),
    bad("a pod without containers", "Pod", spec__containers=[]),
    bad("two containers with one name", "Pod", spec__containers=[{"name": "c", "image": "i"}] * 2),
    bad("a container without an image", "Pod", spec__containers__i0__image=""),
    bad(
        "a container's port out of range",
        "Pod",
        spec__containers__i0__ports=[{"containerPort": 70000}],
    ),
    bad(
        "a container's port with a long name",
        "Pod",
        spec__containers__i0__ports=[{"containerPort": 7, "name": "a" * 16}],
    ),
    bad("an unknown pull policy", "Pod", spec__containers__i0__imagePullPolicy="Later"),
    bad(
        "a variable with a bad name",
        "Pod",
        spec__containers__i0__env=[{"name": "a=b", "value": "x"}],
    ),
    bad(
        "a variable with a value and a source",
        "Pod",
        spec__containers__i0__env=[
            {"name": "a", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        ],
    ),
    bad(
        "a variable from an unknown field",
        "Pod",
        spec__containers__i0__env=[
            {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.colour"}}}
        ],
    ),
    bad(
        "a request above its limit",
        "Pod",
        spec__containers__i0__resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
    ),
    bad("a negative request", "Pod", spec__containers__i0__resources={"requests": {"cpu": "-1"}}),
    bad(
        "an unknown resource", "Pod", spec__containers__i0__resources={"requests": {"colour": "1"}}
    ),
    bad(
        "a mount of no volume",
        "Pod",
        spec__containers__i0__volumeMounts=[{"name": "v", "mountPath": "/a"}],
    ),
    bad(
        "a volume of two kinds",
        "Pod",
        spec__volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/a"}}],
    ),
    bad(
        "a probe without a handler", "Pod", spec__containers__i0__livenessProbe={"periodSeconds": 5}
    ),
    bad(
        "a probe with a negative period",
        "Pod",
        spec__containers__i0__livenessProbe={"periodSeconds": -5, "httpGet": {"port": 80}},
    ),
    bad(
        "a probe on an unknown scheme",
        "Pod",
        spec__containers__i0__livenessProbe={"httpGet": {"port": 80, "scheme": "ftp"}},
    ),
    bad(
        "an unknown seccomp profile",
        "Pod",
        spec__securityContext={"seccompProfile": {"type": "Magic"}},
    ),
    bad(
        "a toleration with a bad operator",
        "Pod",
        spec__tolerations=[{"key": "a", "operator": "Like"}],
    ),
    bad(
        "a toleration of all with a value",
        "Pod",
        spec__tolerations=[{"operator": "Exists", "value": "x"}],
    ),
    bad(
        "a spread over no topology",
        "Pod",
        spec__topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    ),
    bad(
        "a spread with a skew of zero",
        "Pod",
        spec__topologySpreadConstraints=[
            {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    ),
    bad(
        "a spread that does an unknown thing",
        "Pod",
        spec__topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Panic"}
        ],
    ),
    bad(
        "an affinity without a topology",
        "Pod",
        spec__affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": SELECTOR, "topologyKey": ""}
                ]
            }
        },
    ),
    bad(
        "an affinity with a weight of zero",
        "Pod",
        spec__affinity={
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 0,
                        "podAffinityTerm": {"labelSelector": SELECTOR, "topologyKey": "zone"},
                    }
                ]
            }
        },
    ),
    bad(
        "a node affinity with a bad operator",
        "Pod",
        spec__affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]
                }
            }
        },
    ),
    bad("an unknown priority class", "Pod", spec__priorityClassName="nobody"),
    bad("a bad service account", "Pod", spec__serviceAccountName="A_b"),
    # Workloads.
    bad("negative replicas", "Deployment", spec__replicas=-1),
    bad(
        "a selector that does not match", "Deployment", spec__selector={"matchLabels": {"app": "b"}}
    ),
    bad("an empty selector", "Deployment", spec__selector={}),
    bad("an unknown strategy", "Deployment", spec__strategy={"type": "Magic"}),
    bad(
        "a roll that never moves",
        "Deployment",
        spec__strategy={
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0},
        },
    ),
    bad(
        "a surge that is no share",
        "Deployment",
        spec__strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "many"}},
    ),
    bad(
        "a recreation that rolls",
        "Deployment",
        spec__strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
    ),
    bad("a negative history", "Deployment", spec__revisionHistoryLimit=-1),
    bad(
        "a deadline below the minimum of readiness",
        "Deployment",
        spec__progressDeadlineSeconds=5,
        spec__minReadySeconds=10,
    ),
    bad(
        "a template that restarts never", "Deployment", spec__template__spec__restartPolicy="Never"
    ),
    bad(
        "a template with a negative user",
        "Deployment",
        spec__template__spec__securityContext={"runAsUser": -1},
    ),
    bad(
        "a set with an unknown update strategy",
        "StatefulSet",
        spec__updateStrategy={"type": "Magic"},
    ),
    bad("a set with an unknown pod management", "StatefulSet", spec__podManagementPolicy="Magic"),
    # Services, policies, budgets and autoscalers.
    bad("a service without ports", "Service", spec__ports=[]),
    bad("a service's port out of range", "Service", spec__ports=[{"port": 70000}]),
    bad("two ports without names", "Service", spec__ports=[{"port": 1}, {"port": 2}]),
    bad("an unknown type of service", "Service", spec__type="Magic"),
    bad("an address that is none", "Service", spec__clusterIP="1.2.3"),
    bad("an unknown protocol", "Service", spec__ports=[{"port": 1, "protocol": "ICMP"}]),
    bad("an external name without a name", "Service", spec__type="ExternalName"),
    bad("an unknown session affinity", "Service", spec__sessionAffinity="Magic"),
    bad(
        "a policy for an address instead of a block",
        "NetworkPolicy",
        spec__ingress__i0__from__i0__ipBlock__cidr="1.2.3.4",
    ),
    bad(
        "a policy with an exception outside its block",
        "NetworkPolicy",
        spec__ingress__i0__from__i0__ipBlock__except=["192.168.0.0/16"],
    ),
    bad("a policy of an unknown type", "NetworkPolicy", spec__policyTypes=["Sideways"]),
    bad(
        "a policy with a port out of range",
        "NetworkPolicy",
        spec__ingress__i0__ports__i0__port=70000,
    ),
    bad(
        "a policy with a range that ends before it begins",
        "NetworkPolicy",
        spec__ingress__i0__ports__i0__endPort=80,
    ),
    bad(
        "a policy with an unknown protocol",
        "NetworkPolicy",
        spec__ingress__i0__ports__i0__protocol="ICMP",
    ),
    bad("a policy from nobody", "NetworkPolicy", spec__ingress__i0__from=[{}]),
    bad(
        "a policy from a block and pods",
        "NetworkPolicy",
        spec__ingress__i0__from__i0__podSelector=SELECTOR,
    ),
    bad("a budget with both bounds", "PodDisruptionBudget", spec__maxUnavailable=1),
    bad("a budget with a negative bound", "PodDisruptionBudget", spec__minAvailable=-1),
    bad("a budget that is no share", "PodDisruptionBudget", spec__minAvailable="many"),
    bad(
        "a budget with an unknown eviction policy",
        "PodDisruptionBudget",
        spec__unhealthyPodEvictionPolicy="Magic",
    ),
    bad(
        "an autoscaler with a window beyond an hour",
        "HorizontalPodAutoscaler",
        spec__behavior={"scaleDown": {"stabilizationWindowSeconds": 9999}},
    ),
    bad(
        "an autoscaler with a policy of no time",
        "HorizontalPodAutoscaler",
        spec__behavior={
            "scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 0}]}
        },
    ),
    bad(
        "an autoscaler with no policies",
        "HorizontalPodAutoscaler",
        spec__behavior={"scaleUp": {"policies": []}},
    ),
    bad(
        "an autoscaler with an unknown choice",
        "HorizontalPodAutoscaler",
        spec__behavior={"scaleUp": {"selectPolicy": "Magic"}},
    ),
    bad("an autoscaler whose minimum is above", "HorizontalPodAutoscaler", spec__minReplicas=5),
    bad("an autoscaler without a maximum", "HorizontalPodAutoscaler", spec__maxReplicas=0),
    bad(
        "an autoscaler of nothing",
        "HorizontalPodAutoscaler",
        spec__scaleTargetRef={"kind": "", "name": "d"},
    ),
    bad(
        "an autoscaler with a metric of no type",
        "HorizontalPodAutoscaler",
        spec__metrics__i0__type="",
    ),
    bad(
        "an autoscaler with a target of nothing",
        "HorizontalPodAutoscaler",
        spec__metrics__i0__resource__target={"type": "Utilization"},
    ),
    bad(
        "an autoscaler with a container metric of no container",
        "HorizontalPodAutoscaler",
        spec__metrics=[
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 5},
                },
            }
        ],
    ),
    # Cluster-wide kinds.
    bad("a priority above that of users", "PriorityClass", value=2_000_000_000),
    bad("a priority that preempts strangely", "PriorityClass", preemptionPolicy="Magic"),
    bad("a priority class of the system's name", "PriorityClass", metadata__name="system-new"),
    bad("a lease of no time", "Lease", spec__leaseDurationSeconds=0),
    bad("a lease with negative transitions", "Lease", spec__leaseTransitions=-1),
    bad(
        "a role with a rule of no verbs", "Role", rules=[{"apiGroups": [""], "resources": ["pods"]}]
    ),
    bad(
        "a role with a rule of no groups", "Role", rules=[{"resources": ["pods"], "verbs": ["get"]}]
    ),
    bad("a role with paths", "Role", rules=[{"nonResourceURLs": ["/a"], "verbs": ["get"]}]),
    bad(
        "a cluster role with paths and resources",
        "ClusterRole",
        rules=[{**RULE, "nonResourceURLs": ["/a"]}],
    ),
    bad("a binding to an unknown kind", "RoleBinding", roleRef__kind="Group"),
    bad("a binding to another group", "ClusterRoleBinding", roleRef__apiGroup="example.com"),
    bad("a binding to a role", "ClusterRoleBinding", roleRef__kind="Role"),
    bad(
        "a webhook without side effects",
        "ValidatingWebhookConfiguration",
        webhooks__i0__sideEffects=None,
    ),
    bad(
        "a webhook that fails strangely",
        "ValidatingWebhookConfiguration",
        webhooks__i0__failurePolicy="Maybe",
    ),
    bad(
        "a webhook that takes too long",
        "ValidatingWebhookConfiguration",
        webhooks__i0__timeoutSeconds=60,
    ),
    bad(
        "a webhook at plain HTTP",
        "ValidatingWebhookConfiguration",
        webhooks__i0__clientConfig={"url": "http://example.com"},
    ),
    bad(
        "a webhook of no versions",
        "ValidatingWebhookConfiguration",
        webhooks__i0__admissionReviewVersions=[],
    ),
    bad(
        "a webhook for an unknown operation",
        "ValidatingWebhookConfiguration",
        webhooks__i0__rules__i0__operations=["READ"],
    ),
    bad("a webhook with a short name", "ValidatingWebhookConfiguration", webhooks__i0__name="a"),
    bad(
        "a webhook with a condition of no truth",
        "ValidatingWebhookConfiguration",
        webhooks__i0__matchConditions=[{"name": "a", "expression": "1"}],
    ),
    bad("an API service of another name", "APIService", metadata__name="v2.example.com"),
    bad("an API service without priorities", "APIService", spec__versionPriority=0),
    bad("an API service with a bundle and without checks", "APIService", spec__caBundle="eA=="),
    bad("an event of another namespace", "Event", involvedObject__namespace="default"),
    bad("a quota below zero", "ResourceQuota", spec__hard={"pods": "-1"}),
    bad("a quota of an unknown resource", "ResourceQuota", spec__hard={"colour": "1"}),
)

RULES_WITH_COST = (
    "self.a.all(x, x != 'y')",
    "self.a.all(x, self.a.exists(y, x == y))",
    "self.a.all(x, self.a.all(y, x.startsWith(y)))",
    "self.a.all(x, size(x) < 4 ? true : x.endsWith('b'))",
    "self.a.filter(x, x == 'a').size() < 2",
    "self.a.map(x, x + 'b').exists(y, y == 'c')",
    "self.a.all(x, x in self.a)",
    "self.a.all(x, self.m.exists(k, k == x))",
    "self.a == self.a",
    "self.m.all(k, self.m[k] > 0)",
    "self.s.contains(self.s)",
    "self.s == 'abc' || self.a.exists_one(x, x == self.s)",
)
"""Rules whose cost depends on the bounds of the list `a`, the map `m` and the text `s`."""
BOUNDS = ((30, 100), (300, None), (1_000, 100), (10_000, 5), (None, 5), (None, None))
"""The most items, and the longest text."""


def rule_with_bounds(rule: str, items: int | None, length: int | None) -> Bad:
    """A CustomResourceDefinition with a rule over values within bounds."""
    text = {"type": "string"} if length is None else {"type": "string", "maxLength": length}
    in_list = {} if items is None else {"maxItems": items}
    in_map = {} if items is None else {"maxProperties": items}
    number = {"type": "integer"}
    fields = {
        "a": {"type": "array", "items": text, **in_list},
        "m": {"type": "object", "additionalProperties": number, **in_map},
        "s": text,
    }
    return bad_schema("", properties=fields, **{"x-kubernetes-validations": [{"rule": rule}]})
