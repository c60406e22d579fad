"""Tests of the variable SLIPWAY_OIDC_PROVIDERS: an invalid value stops the start of the server with an error
of one sentence.
"""

import json
from typing import Any

import pytest

from app_server.core.config import load_config
from app_server.core.errors import ConfigurationError

ACME = {"name": "acme", "title": "Acme", "issuer": "https://id.example.org", "client_id": "slipway"}


def load(monkeypatch: pytest.MonkeyPatch, *providers: dict[str, Any]) -> Any:
    monkeypatch.setenv("SLIPWAY_OIDC_PROVIDERS", json.dumps(providers))
    return load_config().oidc_providers


def test_defaults_ask_for_an_id_token_and_make_members(monkeypatch: pytest.MonkeyPatch) -> None:
    (provider,) = load(monkeypatch, {**ACME, "scopes": ["email"], "allowed_domains": ["@Example.ORG"]})
    assert provider.scopes == ("openid", "email")
    assert provider.allowed_domains == ("example.org",)
    assert (provider.groups_claim, provider.default_role) == ("groups", "member")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"issuer": "http://id.example.org"}, "must be an https URL"),
        ({"issuer": "https://id.example.org?x=1"}, "must be an https URL"),
        ({"client_secret_file": "/nowhere/secret"}, "there is no file at the client_secret_file of acme"),
        ({"roles": {"admins": "owner"}}, "'admin', 'member' or 'viewer'"),
        ({"name": "Acme Inc"}, "match pattern"),
        ({"client_secret": "in the open"}, "Extra inputs"),
    ],
)
def test_a_wrong_entry_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        load(monkeypatch, {**ACME, **wrong})
    assert "in the open" not in str(caught.value)


def test_two_providers_are_told_apart_by_name_and_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ({"issuer": "https://other.example.org"}, {"name": "other"}):
        with pytest.raises(ConfigurationError, match="two providers have the same"):
            load(monkeypatch, ACME, {**ACME, **other})


def test_a_value_that_is_not_json_is_answered_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_OIDC_PROVIDERS", "acme")
    with pytest.raises(ConfigurationError, match='"issuer": "https://…"'):
        load_config()
