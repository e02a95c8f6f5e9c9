from decimal import Decimal
from pathlib import Path

import pytest

from webhook.domain.options import Options, UsageRule, Weights
from webhook.settings import Settings, load
from webhook.settingsfile import SettingsError


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ESPALIER_CONFIG", "ESPALIER_PORT", "ESPALIER_ROLES"):
        monkeypatch.delenv(name, raising=False)


def write(path: Path, text: str) -> str:
    (path / "espalier.yaml").write_text(text)
    return str(path / "espalier.yaml")


def test_defaults() -> None:
    settings = load({})
    assert (settings.port, settings.http_port) == (9443, 8080)
    assert settings.roles == ("admission", "extender", "controllers")
    assert settings.options() == Options()


def test_flags_override_the_environment_which_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "port: 1\nhttpPort: 1\ndrainQuiet: 1\nlease-name: from-file\n")
    monkeypatch.setenv("ESPALIER_PORT", "2")
    monkeypatch.setenv("ESPALIER_HTTP_PORT", "2")
    settings = load({"config": file, "port": "3"})
    assert (settings.port, settings.http_port, settings.drain_quiet) == (3, 2, 1.0)
    assert settings.lease_name == "from-file"


def test_the_environment_can_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_CONFIG", write(tmp_path, "port: 7\n"))
    assert load({}).port == 7


def test_sections_come_from_the_file_and_parts_of_them_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(
        tmp_path,
        "admission:\n  modes: {shoot.workers: warn}\n  workerRule: system-components\n"
        "  failures: {machineset.permits: Fail}\n"
        "scheduler:\n  strategy: MinimalDistance\n",
    )
    monkeypatch.setenv("ESPALIER_SCHEDULER__HEADROOM", "3")
    options = load({"config": file}).options()
    assert options.admission.mode("shoot.workers", "garden", "deny") == "warn"
    assert options.admission.worker_rule == "system-components"
    assert options.admission.failures == {"machineset.permits": "Fail"}
    assert (options.scheduling.strategy, options.scheduling.headroom) == ("MinimalDistance", 3)


@pytest.mark.parametrize("text", ["admission,extender", " admission , extender ,"])
def test_lists_are_separated_by_commas(text: str) -> None:
    assert load({"roles": text}).roles == ("admission", "extender")


def test_lists_may_be_lists_in_the_file(tmp_path: Path) -> None:
    assert load({"config": write(tmp_path, "roles: [controllers]\n")}).roles == ("controllers",)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            {"port": "70000"},
            "port: input should be less than or equal to 65535; "
            "set it by --port, ESPALIER_PORT or port in the file",
            id="a number out of range",
        ),
        pytest.param(
            {"drain_quiet": "soon"},
            "drainQuiet: input should be a valid number, unable to parse string as a number; "
            "set it by --drain-quiet, ESPALIER_DRAIN_QUIET or drainQuiet in the file",
            id="no number",
        ),
        pytest.param({"roles": "admission,king"}, "roles.1: input should be", id="no such role"),
        pytest.param({"roles": ","}, "name at least one of admission", id="no role"),
        pytest.param(
            {"advertise_url": "http://here"}, "API servers call https only", id="no https"
        ),
        pytest.param(
            {"renew_deadline": "20"}, "lease duration must be longer", id="leaders could overlap"
        ),
        pytest.param(
            {"admission_client_names": "kube-apiserver"},
            "admissionClientNames needs admissionClientCa",
            id="names without a CA",
        ),
        pytest.param({"nonsense": "1"}, "nonsense: no such setting", id="unknown"),
        pytest.param(
            {"config": "/nowhere.yaml"}, "cannot read /nowhere.yaml: No such", id="no file"
        ),
    ],
)
def test_an_invalid_setting_is_named_with_its_remedy(flags: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(flags)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("port: [", "is not YAML", id="broken"),
        pytest.param("- port", "must be a mapping", id="a list"),
        pytest.param("prot: 1", "prot: no such setting", id="misspelt"),
        pytest.param("admission: {modes: {a: maybe}}", "admission.modes.a: input", id="inside"),
        pytest.param(
            "admission: {mode: x}",
            "admission.mode: no such key, remove it or correct it",
            id="misspelt inside",
        ),
        pytest.param(
            "admission: {gardenNamespace: here}",
            "admission.gardenNamespace: this is one setting for all sections now, set it by "
            "--garden-namespace, ESPALIER_GARDEN_NAMESPACE or gardenNamespace in the file",
            id="a key that became a setting of its own",
        ),
        pytest.param(
            "admission: {modes: {shoot.worker: warn}}",
            "there is no policy shoot.worker: did you mean shoot.workers",
            id="a misspelt policy",
        ),
        pytest.param(
            "admission: {exceptions: {garden-dev: {nonsense: off}}}",
            "there is no policy nonsense: `espalier doctor` lists them",
            id="a policy of nobody, by namespace",
        ),
        pytest.param(
            "admission: {failures: {machineset.permit: Fail}}",
            "did you mean machineset.permits",
            id="a misspelt policy that shall fail closed",
        ),
    ],
)
def test_an_error_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"config": write(tmp_path, text)})
    assert message in str(caught.value)


def test_a_bare_off_is_the_mode_off(tmp_path: Path) -> None:
    text = "admission: {modes: {shoot.ha: off}, exceptions: {garden-dev: {shoot.workers: off}}}"
    admission = load({"config": write(tmp_path, text)}).options().admission
    assert admission.modes == {"shoot.ha": "off"}
    assert admission.mode("shoot.workers", "garden-dev", "deny") == "off"


def test_every_setting_has_a_description() -> None:
    silent = [name for name, field in Settings.model_fields.items() if not field.description]
    assert silent == []


def test_usage_and_weights_are_read_from_the_file(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "usage:\n  azure.example.com/load-balancers: {none: 1, single-zone: 500m, multiZone: 3}\n"
        "scheduler:\n  weights: {minimalDistance: 1, leastAllocated: 7}\n  profile: weighted\n",
    )
    options = load({"config": file}).options()
    rule = UsageRule(Decimal(1), Decimal("0.5"), Decimal(3))
    assert options.usage.rules == (("azure.example.com/load-balancers", rule),)
    assert options.scheduling.weights == Weights(1, 3, 7)
    assert options.scheduling.profile == "weighted"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "scheduler: {profile: best}", "use one of default, weighted, gardener", id="p"
        ),
        pytest.param("scheduler: {strategy: Near}", "'SameRegion' or 'MinimalDistance'", id="s"),
        pytest.param("scheduler: {engine: magic}", "'built-in' or 'kube-scheduler'", id="e"),
        pytest.param(
            "usage: {shoots: {none: 1}}", "shoots is counted automatically", id="built in"
        ),
        pytest.param("usage: {gpus: {some: 1}}", "gpus: write amounts for none", id="domain"),
        pytest.param("usage: {gpus: 1}", "gpus: write amounts for none", id="no mapping"),
        pytest.param("usage: {gpus: {none: x}}", "'x' is not a quantity", id="quantity"),
    ],
)
def test_unknown_values_of_the_scheduler_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        load({"config": write(tmp_path, text)})
