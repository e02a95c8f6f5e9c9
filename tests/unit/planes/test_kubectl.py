"""kubectl is run with the server's own configuration, and its failures are told."""

import json

import pytest

from webhook.planes.errors import PlaneError
from webhook.planes.kubectl import Completed, Kubectl

ECHO = """
import json, os, sys
names = ("KUBECONFIG", "KUBECACHEDIR", "KUBERC")
environment = {name: os.environ[name] for name in names}
print(json.dumps([sys.argv[1:], environment, sys.stdin.read()]))
"""


@pytest.fixture
def kubectl(tmp_path):
    return Kubectl(tmp_path / "kubeconfig")


async def test_it_sees_only_its_own_server(kubectl, tmp_path, install):
    install("kubectl", ECHO)
    done = await kubectl("get", "pods")
    arguments, environment, told = json.loads(done.stdout)
    assert arguments == ["get", "pods"]
    assert environment == {
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "KUBECACHEDIR": str(tmp_path / "kubectl-cache"),
        "KUBERC": "off",
    }
    assert told == ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param("a: 1\n", "a: 1\n", id="text as it is"),
        pytest.param({"a": 1}, '{"a": 1}', id="an object as JSON"),
        pytest.param([{"a": 1}, {"b": 2}], '{"a": 1}\n{"b": 2}', id="objects as documents"),
    ],
)
async def test_its_input_is(kubectl, install, given, told):
    install("kubectl", ECHO)
    done = await kubectl("apply", "-f", "-", input=given)
    assert json.loads(done.stdout)[2] == told


async def test_a_failure_is_raised_with_what_it_said(kubectl, install):
    install("kubectl", "import sys; sys.exit('Error from server: no')")
    with pytest.raises(PlaneError, match="kubectl get x failed: Error from server: no"):
        await kubectl("get", "x")


async def test_a_failure_is_a_value_for_those_who_want_it(kubectl, install):
    install("kubectl", "import sys; sys.exit('Error from server: no')")
    done = await kubectl("get", "x", check=False)
    assert done == Completed(1, "", "Error from server: no\n")


async def test_a_run_that_takes_too_long_is_ended(kubectl, install):
    install("kubectl", "import time; time.sleep(60)")
    with pytest.raises(TimeoutError):
        await kubectl("get", "x", timeout=0.3)
