"""Tests of certificate authorities for one git host: its API, its sign-in, git on the app server and the git
proxy trust them. Connections to other hosts do not.
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sqlalchemy import select

from app_server.core.errors import StartFailure
from app_server.git.address import parse_address
from app_server.git.models import GitCredential
from app_server.git.repository_bundle import pack
from app_server.http.additional_trust import AdditionalTrust, trusting
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.git_hosts.authorization.conftest import APPS, CREDENTIALS, Door
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.oauth_host import OAuthHost
from tests.support.outside import Authority
from tests.support.patience import PATIENCE_SECONDS

TOKEN = "canary-token-5b20"


@dataclass(frozen=True)
class Trust:
    """A private certificate authority. `pem`: its certificate. `of_host`: TLS for a server at 127.0.0.1 with
    a certificate that this authority has signed.
    """

    pem: str
    of_host: ssl.SSLContext


def private_authority(directory: Path) -> Trust:
    directory.mkdir()
    authority = Authority(directory)
    return Trust(authority.file.read_text(), authority.context("127.0.0.1"))


@pytest.fixture
def trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trust:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    return private_authority(tmp_path / "authority")


@pytest.fixture
def other(tmp_path: Path) -> Trust:
    return private_authority(tmp_path / "other-authority")


@pytest.fixture
def host(trust: Trust) -> Iterator[OAuthHost]:
    with OAuthHost(tls=trust.of_host) as host:
        host.live.add(TOKEN)
        yield host


@pytest.fixture
def door(app: App, client: httpx.AsyncClient, host: OAuthHost) -> Door:
    return Door(app, client, host)


async def connect(client: httpx.AsyncClient, origin: str, pem: str | None) -> dict[str, Any]:
    body = {"host": origin, "token": TOKEN, "provider": "forgejo", "certificate_authorities": pem}
    reply = await client.post(CREDENTIALS, json=body)
    assert reply.status_code == 201, reply.text
    saved: dict[str, Any] = reply.json()
    return saved


async def test_the_api_is_called_with_the_authority_of_its_connection_only(
    client: httpx.AsyncClient, door: Door, trust: Trust, other: Trust
) -> None:
    saved = await connect(client, door.host.origin, None)
    refused = await door.who()
    assert_problem(refused, 502, "git_host_untrusted")
    name = door.host.origin.removeprefix("https://")
    assert f"The certificate of {name} is not trusted" in refused.json()["detail"]
    assert "paste the certificate of that authority" in refused.json()["fix"]
    assert door.host.requests == []

    url = f"{CREDENTIALS}/{saved['id']}"
    changed = (await client.patch(url, json={"certificate_authorities": trust.pem})).json()
    assert changed["certificate_authorities"] == trust.pem
    assert (await door.who()).json()["login"] == "ada"
    assert (await client.patch(url, json={"push_scope": "any"})).json()["certificate_authorities"]

    # The authority of one git host is not trusted for another git host.
    with OAuthHost(tls=trust.of_host) as second:
        second.live.add(TOKEN)
        await connect(client, second.origin, other.pem)
        asked = {"host": second.origin}
        assert_problem(await client.get("/api/v1/users/git-info", params=asked), 502, "git_host_untrusted")
        assert second.requests == []

    assert (await client.patch(url, json={"certificate_authorities": ""})).json()[
        "certificate_authorities"
    ] is None
    assert_problem(await door.who(), 502, "git_host_untrusted")


async def test_an_authority_is_not_trusted_where_a_redirect_leads(
    app: App, trust: Trust, host: OAuthHost
) -> None:
    """After a redirect to another host, the transport does not trust the authority: it checks the address of
    each request. This is so for both HTTP clients of the app server.
    """
    with OAuthHost(tls=trust.of_host) as elsewhere:
        for http in (app.state["http"], app.state["guarded_http"]):
            client = trusting(http, AdditionalTrust(trust.pem, (elsewhere.origin,)))
            with pytest.raises(Exception, match=r"CERTIFICATE_VERIFY_FAILED|private address"):
                await client.get(f"{host.origin}/user")
    assert host.requests == []


async def test_a_sign_in_by_redirect_and_by_code_and_its_renewal_use_the_authority_of_the_application(
    client: httpx.AsyncClient, door: Door, trust: Trust
) -> None:
    app = await door.register("gitlab", certificate_authorities=None)
    brought = await door.begin(app["id"])
    finish = "/api/v1/settings/git-sign-ins/finish"
    assert_problem(await client.post(finish, json=brought), 502, "git_host_untrusted")

    app = await door.register("gitlab", certificate_authorities=trust.pem)
    assert app["certificate_authorities"] == trust.pem
    device = await client.post("/api/v1/settings/git-sign-ins/device", json={"app_id": app["id"]})
    assert device.json()["user_code"], device.text
    signed_in = await client.post(finish, json=await door.begin(app["id"]))
    assert signed_in.json()["certificate_authorities"] == trust.pem, signed_in.text
    before = await door.token()
    await door.grow_old(expired=True)
    assert (await door.who()).status_code == 200
    assert await door.token() != before

    # A change of the application's authorities also changes the existing connections of this application.
    await door.register("gitlab", certificate_authorities=None)
    assert (await door.credential())["certificate_authorities"] is None
    assert_problem(await door.who(), 502, "git_host_untrusted")


async def test_git_on_the_server_trusts_the_authority_for_this_host_only(
    app: App, owner: User, client: httpx.AsyncClient, tmp_path: Path, trust: Trust, other: Trust
) -> None:
    with (
        GitHost(tmp_path / "host", tls=trust.of_host) as host,
        GitHost(tmp_path / "neighbour", tls=trust.of_host) as neighbour,
    ):
        for one, pem in ((host, trust.pem), (neighbour, other.pem)):
            one.make("team/harbour")
            one.tokens[TOKEN] = "write"
            await connect(client, one.origin, pem)

        async def fetched(url: str, folder: str) -> str | None:
            address = parse_address(url)
            credentials = await app.state["git_tokens"].credentials(owner.id, address)
            directory = tmp_path / folder
            directory.mkdir()
            packed = await pack(
                address,
                None,
                directory=directory,
                timeout_seconds=PATIENCE_SECONDS,
                report=lambda _line: None,
                credentials=credentials,
            )
            return packed.branch

        assert await fetched(host.url("team/harbour"), "one") == "main"
        # An address with a password uses the same authorities.
        with_password = host.url("team/harbour").replace("https://", f"https://x-access-token:{TOKEN}@")
        assert await fetched(with_password, "two") == "main"
        with pytest.raises(StartFailure) as failure:
            await fetched(neighbour.url("team/harbour"), "three")
        assert failure.value.code == "certificate_not_trusted"
        assert "paste the certificate of that authority" in failure.value.fix
        assert neighbour.requests == []


def private_key() -> str:
    return (
        ec.generate_private_key(ec.SECP256R1())
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )


async def test_only_certificates_are_accepted(app: App, client: httpx.AsyncClient, trust: Trust) -> None:
    key = private_key()
    refused = {
        key: "contains a private key",
        trust.pem + key: "contains a private key",
        "no certificate": "no certificates in PEM form",
        trust.pem.replace("MII", "AAA", 1): "no certificates in PEM form",
        trust.pem * 200: "longer than 64 KiB",
    }
    of_app = {"host": "git.example.org", "provider": "forgejo", "client_id": "slipway"}
    of_host = {"host": "git.example.org", "token": TOKEN, "provider": "forgejo"}
    for text, words in refused.items():
        for route, body in ((CREDENTIALS, of_host), (APPS, of_app)):
            reply = await client.post(route, json={**body, "certificate_authorities": text})
            assert_problem(reply, 422, "validation_failed")
            assert words in reply.json()["detail"]
            assert "Value error" not in reply.json()["detail"]
            assert key.splitlines()[1] not in reply.text
    async with app.database.read() as session:
        assert (await session.scalars(select(GitCredential))).all() == []
    # Text between the certificates is removed.
    chatty = f"Our authority:\n{trust.pem}\nuntil 2040"
    saved = await client.post(CREDENTIALS, json={**of_host, "certificate_authorities": chatty})
    assert saved.json()["certificate_authorities"] == trust.pem
