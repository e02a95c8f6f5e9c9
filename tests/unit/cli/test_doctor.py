import argparse
import json
import sys

from webhook.cli import doctor
from webhook.cli.install.examine import machine


def run(*flags: str) -> int:
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    return doctor.run(parser.parse_args(flags))


def test_this_machine_has_the_required_tools(capsys):
    assert run("--no-cluster", "-o", "json") == 0
    findings = json.loads(capsys.readouterr().out)
    assert {"state", "subject", "message"} == set(findings[0])
    assert findings[0]["subject"] == "Python"
    assert findings[0]["state"] == "ok"


def test_the_table_lists_every_component(capsys):
    assert run("--no-cluster") == 0
    printed = capsys.readouterr().out
    assert all(f"real {name}" in printed for name in ("etcd", "kubernetes", "gardener", "mcm"))


def test_a_named_cluster_that_does_not_answer_is_missing(capsys, tmp_path):
    assert run("--kubeconfig", str(tmp_path / "absent"), "-o", "json") == 1
    (finding,) = [
        found for found in json.loads(capsys.readouterr().out) if found["subject"] == "cluster"
    ]
    assert finding["state"] == "missing"
    assert "cannot be read" in finding["message"]


def test_the_default_cluster_may_be_absent(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    assert run("-o", "json") == 0


def test_an_old_python_is_missing(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    first = next(iter(machine.examine_machine()))
    assert first.state == "missing"
    assert "3.11 or newer is needed" in first.message


def test_missing_tools_come_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = {finding.subject: finding for finding in machine.examine_machine()}
    assert "install it, or run `make real`" in found["kubectl"].message
    assert "run `make real`" in found["real etcd"].message
    assert "put it on PATH" in found["Go"].message
    assert {finding.state for finding in found.values()} == {"ok", "optional"}
