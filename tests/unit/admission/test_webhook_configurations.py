"""The webhook configurations follow from the table of policies."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from webhook.admission.table import POLICIES
from webhook.admission.webhook_configurations import (
    TIMEOUT_SECONDS,
    WebhookTarget,
    configurations,
    is_used,
)
from webhook.api.kinds import KINDS
from webhook.domain.options import AdmissionOptions, Options
from webhook.kube.meta import ObjectKey

SERVICE = WebhookTarget(ObjectKey("espalier-system", "espalier"), b"PEM")
BESIDE = Options(beside_gardener=True)


def webhooks(
    options: Options | None = None, target: WebhookTarget = SERVICE
) -> dict[str, dict[str, Any]]:
    made = configurations(target, options or Options())
    assert [configuration["kind"] for configuration in made] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    found = [webhook for configuration in made for webhook in configuration["webhooks"]]
    by_name = {webhook["name"]: webhook for webhook in found}
    assert len(by_name) == len(found)
    return by_name


def is_labelled(webhook: dict[str, Any]) -> bool:
    """Return whether the webhook selects namespaces by a label."""
    selector = webhook.get("namespaceSelector", {}).get("matchExpressions", [])
    return any(expression["operator"] == "Exists" for expression in selector)


def covered(half: str, options: Options | None = None) -> set[tuple[str, str, str]]:
    made = configurations(SERVICE, options or Options())[half == "validate"]["webhooks"]
    return {
        (rule["apiGroups"][0], resource, operation)
        for webhook in made
        for rule in webhook["rules"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }


def test_one_webhook_in_full() -> None:
    assert webhooks()["shoots.delete.fail.espalier.gardener.cloud"] == {
        "name": "shoots.delete.fail.espalier.gardener.cloud",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "caBundle": base64.b64encode(b"PEM").decode(),
            "service": {
                "namespace": "espalier-system",
                "name": "espalier",
                "path": "/validate",
                "port": 443,
            },
        },
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["kube-system", "espalier-system"],
                }
            ]
        },
        "rules": [
            {
                "apiGroups": ["core.gardener.cloud"],
                "apiVersions": ["v1beta1"],
                "operations": ["DELETE"],
                "resources": ["shoots"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": 5,
    }


PERMITS = "machinesets.mutate.fail.espalier.gardener.cloud"


def _fails(webhook: dict[str, Any]) -> bool:
    return bool(webhook["failurePolicy"] == "Fail")


@pytest.mark.parametrize("half", ["mutate", "validate"])
@pytest.mark.parametrize("options", [Options(), BESIDE], ids=["alone", "beside a Gardener"])
def test_the_rules_match_exactly_the_operations_of_the_policies(
    half: str, options: Options
) -> None:
    kinds = {kind.model: kind for kind in KINDS}
    wanted = {
        (kinds[model].group, kinds[model].plural + (f"/{sub}" if sub else ""), operation)
        for policy in POLICIES
        if is_used(policy, options) and getattr(policy, half) is not None
        for model in policy.models
        for operation in policy.operations
        for sub in policy.subresources
    }
    assert covered(half, options) == wanted


@pytest.mark.parametrize("options", [Options(), BESIDE], ids=["alone", "beside a Gardener"])
def test_every_webhook_has_match_conditions_and_a_short_timeout(options: Options) -> None:
    for name, webhook in webhooks(options).items():
        assert webhook["timeoutSeconds"] == TIMEOUT_SECONDS <= 5
        takes = name.startswith(("machinesets.mutate.", "machinedeployments.mutate."))
        assert webhook["sideEffects"] == ("NoneOnDryRun" if takes else "None")
        assert webhook["admissionReviewVersions"] == ["v1"]
        for rule in webhook["rules"]:
            assert "*" not in (*rule["apiGroups"], *rule["apiVersions"], *rule["resources"])
            namespaced = rule["scope"] == "Namespaced"
            assert ("namespaceSelector" in webhook) is namespaced
        is_update = "UPDATE" in webhook["rules"][0]["operations"]
        counts = name.startswith("machinesets.")
        assert ("matchConditions" in webhook) is (
            is_update and (counts or not is_labelled(webhook))
        )
        is_mutating = webhook["clientConfig"]["service"]["path"] == "/mutate"
        assert webhook.get("reinvocationPolicy") == ("IfNeeded" if is_mutating else None)


WATCHFUL = Options(
    admission=AdmissionOptions(
        modes=dict.fromkeys(("shoot.finalizers", "seed.status", "managedseedset.status"), "deny")
    )
)


def test_status_updates_match_only_if_a_policy_validates_them() -> None:
    plain, watchful = webhooks(), webhooks(WATCHFUL)
    assert watchful.keys() - plain.keys() == {
        "seeds.status.ignore.espalier.gardener.cloud",
        "managedseedsets.status.ignore.espalier.gardener.cloud",
    }
    status = watchful["seeds.status.ignore.espalier.gardener.cloud"]
    assert [rule["resources"] for rule in status["rules"]] == [["seeds/status"]]
    assert [each["name"] for each in status["matchConditions"]] == ["changes-status"]
    seeds = "seeds.validate.fail.espalier.gardener.cloud"
    assert watchful[seeds] == plain[seeds]


def test_finalizers_match_only_if_a_policy_validates_them() -> None:
    shoots = "shoots.validate.fail.espalier.gardener.cloud"
    [usual] = webhooks()[shoots]["matchConditions"]
    [watchful] = webhooks(WATCHFUL)[shoots]["matchConditions"]
    assert "finalizers" not in usual["expression"]
    assert "finalizers" in watchful["expression"]


def test_deletions_fail_closed() -> None:
    for webhook in webhooks().values():
        if webhook["rules"][0]["operations"] == ["DELETE"]:
            assert webhook["failurePolicy"] == "Fail"


def test_a_call_fails_closed_if_one_of_its_policies_does() -> None:
    found = webhooks()
    assert found["shoots.validate.fail.espalier.gardener.cloud"]["failurePolicy"] == "Fail"
    assert found["shoots.mutate.ignore.espalier.gardener.cloud"]["failurePolicy"] == "Ignore"
    assert found["workerpools.validate.ignore.espalier.gardener.cloud"]["failurePolicy"] == (
        "Ignore"
    )


def test_beside_a_gardener_every_webhook_fails_open() -> None:
    assert [name for name, webhook in webhooks(BESIDE).items() if _fails(webhook)] == []
    assert not any(operation == "DELETE" for *_, operation in covered("validate", BESIDE))
    strict = Options(beside_gardener=True, admission=AdmissionOptions(failure="Fail"))
    strictly = {
        name: webhook
        for name, webhook in webhooks(strict).items()
        if not name.startswith(("tortoises.", "horizontalpodautoscalers."))
    }
    assert {webhook["failurePolicy"] for webhook in strictly.values()} == {"Fail"}


PERMITTED = replace(BESIDE, admission=AdmissionOptions(failures={"machineset.permits": "Fail"}))


def test_failure_policies_of_single_policies() -> None:
    failing = [name for name, webhook in webhooks(PERMITTED).items() if _fails(webhook)]
    assert failing == [PERMITS]
    strict = AdmissionOptions(failure="Fail", failures={"machineset.permits": "Ignore"})
    assert PERMITS not in webhooks(Options(admission=strict))
    floors = AdmissionOptions(failures={"autoscaler.floors": "Fail"})
    name = "horizontalpodautoscalers.mutate.fail.espalier.gardener.cloud"
    assert name in webhooks(Options(admission=floors))


@pytest.mark.parametrize(
    "options", [Options(), PERMITTED], ids=["alone", "beside a Gardener with permits"]
)
def test_machine_sets_fail_closed_in_adaptive_namespaces_only(options: Options) -> None:
    webhook = webhooks(options)[PERMITS]
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["sideEffects"] == "NoneOnDryRun"
    assert webhook["namespaceSelector"]["matchExpressions"] == [
        {"key": "espalier.gardener.cloud/adaptive-pools", "operator": "Exists"},
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]},
    ]
    assert [condition["name"] for condition in webhook["matchConditions"]] == ["changes-replicas"]


def test_beside_a_gardener_rules_have_one_version() -> None:
    name = "seedautoscalers.validate.{}.espalier.gardener.cloud"
    alone = webhooks()[name.format("fail")]["rules"][0]["apiVersions"]
    beside = webhooks(BESIDE)[name.format("ignore")]["rules"][0]["apiVersions"]
    assert (alone, beside) == (["v1beta1", "v1alpha1"], ["v1beta1"])


@pytest.mark.parametrize(
    ("options", "excluded"),
    [
        pytest.param(Options(), ["kube-system", "espalier-system"], id="our own namespace"),
        pytest.param(Options(namespace="garden"), ["kube-system"], id="not the garden"),
        pytest.param(BESIDE, ["kube-system"], id="not beside a Gardener"),
    ],
)
def test_excluded_namespaces(options: Options, excluded: list[str]) -> None:
    for webhook in webhooks(options).values():
        if "namespaceSelector" in webhook and not is_labelled(webhook):
            selector = webhook["namespaceSelector"]["matchExpressions"]
            assert [expression["values"] for expression in selector] == [excluded]


@pytest.mark.parametrize(
    ("options", "own"),
    [
        pytest.param(Options(), "espalier-system", id="alone"),
        pytest.param(BESIDE, "espalier-system", id="beside a Gardener"),
        pytest.param(replace(BESIDE, namespace="garden"), "garden", id="in the garden itself"),
    ],
)
def test_autoscaling_matches_every_write_in_labelled_namespaces_only(
    options: Options, own: str
) -> None:
    for plural in ("tortoises", "horizontalpodautoscalers"):
        webhook = webhooks(options)[f"{plural}.mutate.ignore.espalier.gardener.cloud"]
        assert "matchConditions" not in webhook
        assert webhook["namespaceSelector"]["matchExpressions"] == [
            {"key": "espalier.gardener.cloud/scheduled-scaling", "operator": "Exists"},
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", own],
            },
        ]


def test_a_webhook_outside_of_the_cluster_has_a_url() -> None:
    found = webhooks(target=WebhookTarget(None, url="https://host:9443/"))
    clients = [webhook["clientConfig"] for webhook in found.values()]
    assert {client["url"] for client in clients} == {
        "https://host:9443/mutate",
        "https://host:9443/validate",
    }
    assert not any("caBundle" in client or "service" in client for client in clients)


@pytest.mark.parametrize(
    ("admission", "called"),
    [
        pytest.param(AdmissionOptions(), True, id="as in the table"),
        pytest.param(
            AdmissionOptions(modes={"extension.rules": "off"}), False, id="off everywhere"
        ),
        pytest.param(
            AdmissionOptions(
                modes={"extension.rules": "off"}, exceptions={"a": {"extension.rules": "warn"}}
            ),
            True,
            id="off, but not in one namespace",
        ),
    ],
)
def test_a_policy_that_is_off_everywhere_has_no_webhook(
    admission: AdmissionOptions, called: bool
) -> None:
    resources = {resource for _, resource, _ in covered("validate", Options(admission=admission))}
    assert ("infrastructures" in resources) is called


def test_names_are_unique_and_the_table_gives_a_reason_for_each_choice() -> None:
    named = [(policy.name, model) for policy in POLICIES for model in policy.models]
    assert len(named) == len(set(named))
    assert all(policy.why for policy in POLICIES)


def test_policies_of_scheduled_scaling_always_fail_open() -> None:
    options = Options(admission=AdmissionOptions(failure="Fail"))
    mutating, _ = configurations(SERVICE, options)
    floors = {
        each["rules"][0]["resources"][0]: (each["failurePolicy"], each["reinvocationPolicy"])
        for each in mutating["webhooks"]
        if each["name"].startswith(("tortoises.", "horizontalpodautoscalers."))
    }
    assert floors == {
        "tortoises": ("Ignore", "IfNeeded"),
        "tortoises/status": ("Ignore", "IfNeeded"),
        "horizontalpodautoscalers": ("Ignore", "IfNeeded"),
    }
