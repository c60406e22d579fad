"""Tests of the tokens of an OpenID Connect provider: only tokens with a valid signature and valid claims are
accepted.
"""

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from app_server.core.addresses import parse_named
from app_server.core.errors import AppError
from app_server.core.identity_providers import IdentityProvider
from app_server.http.guarded_client import Guard
from app_server.sign_in.oidc.discovery import Providers
from app_server.sign_in.oidc.tokens import LEEWAY_SECONDS, read_id_token, read_logout_token

ISSUER = "https://id.example.org"
ACME = IdentityProvider(name="acme", title="Acme", issuer=ISSUER, client_id="slipway")
LOGOUT = {"http://schemas.openid.net/event/backchannel-logout": {}}


class Signer:
    """An OpenID Connect provider whose keys and claims a test can choose."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
        self.requests = 0
        self.called = ISSUER
        self.app = Starlette(
            routes=[Route("/.well-known/openid-configuration", self._metadata), Route("/keys", self._keys)]
        )

    def token(self, key: Any = None, algorithm: str = "RS256", **claims: Any) -> str:
        moment = int(time.time())
        usual = {
            "iss": ISSUER,
            "aud": "slipway",
            "sub": "ada",
            "nonce": "n",
            "iat": moment,
            "exp": moment + 300,
        }
        told = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        key = key or self.key
        header = {"alg": algorithm, **({"kid": key.kid} if key.kid else {})}
        return jwt.encode(header, told, key, algorithms=[algorithm])

    async def _metadata(self, request: Request) -> JSONResponse:
        ends = {name: f"{ISSUER}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
        algorithms = ["RS256", "HS256", "none"]
        return JSONResponse(
            {
                "issuer": self.called,
                "jwks_uri": f"{ISSUER}/keys",
                "id_token_signing_alg_values_supported": algorithms,
                **ends,
            }
        )

    async def _keys(self, request: Request) -> JSONResponse:
        self.requests += 1
        return JSONResponse(KeySet([self.key]).as_dict(private=False))


@pytest.fixture
def signer() -> Signer:
    return Signer()


@pytest.fixture
async def providers(signer: Signer) -> AsyncIterator[Providers]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(signer.app)) as client:
        yield Providers([ACME], client, Guard(parse_named([])))


async def refusal(providers: Providers, token: str) -> str:
    with pytest.raises(AppError) as caught:
        await read_id_token(providers, ACME, token, nonce="n")
    return caught.value.code


async def test_a_token_of_the_provider_for_us_is_read(providers: Providers, signer: Signer) -> None:
    assert (await read_id_token(providers, ACME, signer.token(), nonce="n"))["sub"] == "ada"
    several = signer.token(aud=["slipway", "other"], azp="slipway")
    assert (await read_id_token(providers, ACME, several, nonce="n"))["sub"] == "ada"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example.org"},
        {"aud": "another-client"},
        {"aud": ["slipway", "other"]},
        {"azp": "another-client"},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"exp": -LEEWAY_SECONDS - 30},
        {"exp": None},
        {"iat": LEEWAY_SECONDS + 600},
        {"sub": None},
        {"sub": "a" * 256},
    ],
    ids=str,
)
async def test_a_token_with_other_claims_is_refused(
    providers: Providers, signer: Signer, claims: dict[str, Any]
) -> None:
    moments = {name: from_now(seconds) for name in ("exp", "iat") if (seconds := claims.get(name))}
    assert await refusal(providers, signer.token(**{**claims, **moments})) == "oidc_identity_invalid"


def from_now(seconds: int) -> int:
    return int(time.time()) + seconds


async def test_clocks_may_be_a_minute_apart(providers: Providers, signer: Signer) -> None:
    behind = signer.token(exp=from_now(30 - LEEWAY_SECONDS))
    ahead = signer.token(iat=from_now(LEEWAY_SECONDS - 30))
    for token in (behind, ahead):
        assert await read_id_token(providers, ACME, token, nonce="n")


async def test_signatures_of_others_are_refused(providers: Providers, signer: Signer) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    shared = OctKey.import_key("the client secret, which the browser's owner may know", {"kid": "one"})
    header, body, signature = signer.token().split(".")
    for token in (
        signer.token(key=stranger),
        signer.token(key=shared, algorithm="HS256"),
        f"eyJhbGciOiJub25lIn0.{body}.",
        f"{header}.{body}.{signature[:-8]}AAAAAAAA",
        "no token",
    ):
        assert await refusal(providers, token) == "oidc_identity_invalid"


async def test_new_keys_of_the_provider_are_found_and_forged_ones_lead_to_few_requests(
    providers: Providers, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await read_id_token(providers, ACME, signer.token(), nonce="n")
    stranger = RSAKey.generate_key(2048, {"kid": "stranger"})
    for _ in range(5):
        assert await refusal(providers, signer.token(key=stranger)) == "oidc_identity_invalid"
    assert signer.requests == 1

    signer.key = RSAKey.generate_key(2048, {"kid": "two", "alg": "RS256", "use": "sig"})
    monkeypatch.setattr("app_server.sign_in.oidc.discovery.MIN_AGE_OF_KEYS_SECONDS", 0.0)
    assert await read_id_token(providers, ACME, signer.token(), nonce="n")
    assert signer.requests == 2


async def test_a_provider_with_another_issuer_is_refused(providers: Providers, signer: Signer) -> None:
    signer.called = "https://elsewhere.example.org"
    assert await refusal(providers, signer.token()) == "oidc_provider_unreachable"


async def test_a_logout_token_names_the_person_and_is_not_an_id_token(
    providers: Providers, signer: Signer
) -> None:
    good = signer.token(events=LOGOUT, nonce=None, sid="s")
    assert (await read_logout_token(providers, ACME, good))["sid"] == "s"
    for claims in (
        {"events": LOGOUT},
        {"events": {}, "nonce": None},
        {"nonce": None},
        {"events": LOGOUT, "nonce": None, "sub": None},
    ):
        with pytest.raises(AppError) as caught:
            await read_logout_token(providers, ACME, signer.token(**claims))
        assert caught.value.code == "oidc_identity_invalid"
