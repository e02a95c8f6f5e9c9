"""ServiceAccount tokens are signed, and verified with audience, expiration and bound object."""

import base64
import json

import pytest

from tests.unit.dev.apiserver.builtin.literal_reader import LiteralReader
from webhook.dev.apiserver.auth.tokens import ISSUER, InvalidTokenError, Signer, TokenSpec

NOW = 1_800_000_000
ACCOUNT = {"metadata": {"name": "a", "namespace": "n", "uid": "1"}}
STORED = LiteralReader(serviceaccounts=[ACCOUNT])


@pytest.fixture
def signer(tmp_path):
    return Signer.at(tmp_path / "key")


def _token(signer: Signer, *audiences: str) -> str:
    return signer.issue(ACCOUNT, TokenSpec(audiences or (ISSUER,), NOW + 600), NOW)


def test_a_token_identifies_its_service_account(signer):
    verified = signer.verify(_token(signer), (ISSUER, "x"), STORED, NOW + 599)
    assert verified.user.name == "system:serviceaccount:n:a"
    assert verified.user.groups == ("system:serviceaccounts", "system:serviceaccounts:n")
    assert verified.user.uid == "1"
    assert verified.audiences == (ISSUER,)


def test_the_key_is_kept_across_restarts(tmp_path, signer):
    token = _token(signer)
    assert Signer.at(tmp_path / "key").verify(token, (ISSUER,), STORED, NOW).user.uid == "1"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_tokens_of_other_signers_are_invalid(tmp_path, signer):
    other = Signer.at(tmp_path / "other")
    with pytest.raises(InvalidTokenError, match=r"^invalid bearer token$"):
        signer.verify(_token(other), (ISSUER,), STORED, NOW)


@pytest.mark.parametrize("part", [pytest.param(0, id="header"), pytest.param(1, id="claims")])
def test_modified_tokens_are_invalid(signer, part):
    parts = _token(signer).split(".")
    decoded = json.loads(base64.urlsafe_b64decode(parts[part] + "=="))
    decoded["alg" if part == 0 else "sub"] = "none"
    parts[part] = base64.urlsafe_b64encode(json.dumps(decoded).encode()).rstrip(b"=").decode()
    with pytest.raises(InvalidTokenError):
        signer.verify(".".join(parts), (ISSUER,), STORED, NOW)


@pytest.mark.parametrize("text", ["", "x", "a.b", "a.b.c", "....", "é.é.é"])
def test_malformed_tokens_are_invalid(signer, text):
    with pytest.raises(InvalidTokenError):
        signer.verify(text, (ISSUER,), STORED, NOW)


def test_tokens_expire(signer):
    with pytest.raises(InvalidTokenError, match="expired"):
        signer.verify(_token(signer), (ISSUER,), STORED, NOW + 600)


def test_tokens_are_valid_for_their_audience_only(signer):
    with pytest.raises(InvalidTokenError) as raised:
        signer.verify(_token(signer, "x"), ("y",), STORED, NOW)
    assert str(raised.value) == (
        '[invalid bearer token, token audiences ["x"] is invalid for the target audiences ["y"]]'
    )


def test_tokens_become_invalid_with_their_service_account(signer):
    again = {"metadata": {"name": "a", "namespace": "n", "uid": "2"}}
    for stored in (LiteralReader(), LiteralReader(serviceaccounts=[again])):
        with pytest.raises(InvalidTokenError, match="invalidated"):
            signer.verify(_token(signer), (ISSUER,), stored, NOW)


def test_tokens_become_invalid_with_their_bound_object(signer):
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "7"}}
    token = signer.issue(ACCOUNT, TokenSpec((ISSUER,), NOW + 600, "pod", pod), NOW)
    both = LiteralReader(serviceaccounts=[ACCOUNT], pods=[pod])
    extra = signer.verify(token, (ISSUER,), both, NOW).user.extra
    assert extra["authentication.kubernetes.io/pod-name"] == ("p",)
    with pytest.raises(InvalidTokenError, match="invalidated"):
        signer.verify(token, (ISSUER,), STORED, NOW)
