"""ServiceAccount tokens."""

import base64
import json

import pytest

from tests.unit.apiserver.builtin.readers import Objects
from webhook.apiserver.tokens import ISSUER, BadTokenError, Purpose, Signer

NOW = 1_800_000_000
ACCOUNT = {"metadata": {"name": "a", "namespace": "n", "uid": "1"}}
STORED = Objects(serviceaccounts=[ACCOUNT])


@pytest.fixture
def signer(tmp_path):
    return Signer.at(tmp_path / "key")


def _token(signer: Signer, *audiences: str) -> str:
    return signer.issue(ACCOUNT, Purpose(audiences or (ISSUER,), NOW + 600), NOW)


def test_a_token_names_its_account(signer):
    verified = signer.verify(_token(signer), (ISSUER, "x"), STORED, NOW + 599)
    assert verified.user.name == "system:serviceaccount:n:a"
    assert verified.user.groups == ("system:serviceaccounts", "system:serviceaccounts:n")
    assert verified.user.uid == "1"
    assert verified.audiences == (ISSUER,)


def test_the_key_outlives_the_process(tmp_path, signer):
    token = _token(signer)
    assert Signer.at(tmp_path / "key").verify(token, (ISSUER,), STORED, NOW).user.uid == "1"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_tokens_of_others_prove_nothing(tmp_path, signer):
    other = Signer.at(tmp_path / "other")
    with pytest.raises(BadTokenError, match=r"^invalid bearer token$"):
        signer.verify(_token(other), (ISSUER,), STORED, NOW)


@pytest.mark.parametrize("part", [pytest.param(0, id="header"), pytest.param(1, id="claims")])
def test_tokens_cannot_be_changed(signer, part):
    parts = _token(signer).split(".")
    decoded = json.loads(base64.urlsafe_b64decode(parts[part] + "=="))
    decoded["alg" if part == 0 else "sub"] = "none"
    parts[part] = base64.urlsafe_b64encode(json.dumps(decoded).encode()).rstrip(b"=").decode()
    with pytest.raises(BadTokenError):
        signer.verify(".".join(parts), (ISSUER,), STORED, NOW)


@pytest.mark.parametrize("text", ["", "x", "a.b", "a.b.c", "....", "é.é.é"])
def test_what_is_no_token(signer, text):
    with pytest.raises(BadTokenError):
        signer.verify(text, (ISSUER,), STORED, NOW)


def test_tokens_expire(signer):
    with pytest.raises(BadTokenError, match="expired"):
        signer.verify(_token(signer), (ISSUER,), STORED, NOW + 600)


def test_tokens_are_for_their_audience(signer):
    with pytest.raises(BadTokenError) as raised:
        signer.verify(_token(signer, "x"), ("y",), STORED, NOW)
    assert str(raised.value) == (
        '[invalid bearer token, token audiences ["x"] is invalid for the target audiences ["y"]]'
    )


def test_tokens_die_with_their_account(signer):
    again = {"metadata": {"name": "a", "namespace": "n", "uid": "2"}}
    for stored in (Objects(), Objects(serviceaccounts=[again])):
        with pytest.raises(BadTokenError, match="invalidated"):
            signer.verify(_token(signer), (ISSUER,), stored, NOW)


def test_tokens_die_with_what_they_are_bound_to(signer):
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "7"}}
    token = signer.issue(ACCOUNT, Purpose((ISSUER,), NOW + 600, "pod", pod), NOW)
    both = Objects(serviceaccounts=[ACCOUNT], pods=[pod])
    extra = signer.verify(token, (ISSUER,), both, NOW).user.extra
    assert extra["authentication.kubernetes.io/pod-name"] == ("p",)
    with pytest.raises(BadTokenError, match="invalidated"):
        signer.verify(token, (ISSUER,), STORED, NOW)
