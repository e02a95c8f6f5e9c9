"""kubectl runs with the configuration of its server, and failures are raised."""

import json

import pytest

from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.kubectl import Completed, Kubectl

ECHO = """
import json, os, sys
names = ("KUBECONFIG", "KUBECACHEDIR", "KUBERC")
environment = {name: os.environ[name] for name in names}
print(json.dumps([sys.argv[1:], environment, sys.stdin.read()]))
"""


@pytest.fixture
def kubectl(tmp_path):
    return Kubectl(tmp_path / "kubeconfig")


async def test_kubectl_uses_the_configuration_of_its_server(kubectl, tmp_path, install):
    install("kubectl", ECHO)
    done = await kubectl("get", "pods")
    arguments, environment, stdin = json.loads(done.stdout)
    assert arguments == ["get", "pods"]
    assert environment == {
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "KUBECACHEDIR": str(tmp_path / "kubectl-cache"),
        "KUBERC": "off",
    }
    assert stdin == ""


@pytest.mark.parametrize(
    ("given", "stdin"),
    [
        pytest.param("a: 1\n", "a: 1\n", id="text as it is"),
        pytest.param({"a": 1}, '{"a": 1}', id="an object as JSON"),
        pytest.param([{"a": 1}, {"b": 2}], '{"a": 1}\n{"b": 2}', id="objects as documents"),
    ],
)
async def test_standard_input_is(kubectl, install, given, stdin):
    install("kubectl", ECHO)
    done = await kubectl("apply", "-f", "-", input=given)
    assert json.loads(done.stdout)[2] == stdin


async def test_a_failure_is_raised_with_the_output(kubectl, install):
    install("kubectl", "import sys; sys.exit('Error from server: no')")
    with pytest.raises(PlaneError, match="kubectl get x failed: Error from server: no"):
        await kubectl("get", "x")


async def test_a_failure_is_returned_without_check(kubectl, install):
    install("kubectl", "import sys; sys.exit('Error from server: no')")
    done = await kubectl("get", "x", check=False)
    assert done == Completed(1, "", "Error from server: no\n")


async def test_a_run_that_takes_too_long_is_killed(kubectl, install):
    install("kubectl", "import time; time.sleep(60)")
    with pytest.raises(TimeoutError):
        await kubectl("get", "x", timeout=0.3)
