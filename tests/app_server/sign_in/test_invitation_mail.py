"""Tests of invitations by e-mail, with a real exchange with a mail server."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.core.config import Config
from app_server.core.jobs.policy import RetryPolicy
from app_server.core.mail.server import MailServer
from app_server.sign_in.invitation_mail import delivery
from app_server.users.models import Role, User
from tests.app_server.access.test_people import PEOPLE, signed_in
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.mail_receiver import MailReceiver

ADA = {"name": "Ada", "role": "member", "email": "ada@harbour.dev"}
NOT_ADDRESSES = [
    "ada",
    "ada@harbour.dev\nBcc: eve@harbour.dev",
    "ada@harbour.dev\r\n",
    "ada\x01@harbour.dev",
    "ada@harbour.dev, eve@harbour.dev",
    "Ada <ada@harbour.dev>",
]
FEW = RetryPolicy(attempts=3, first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=5))


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "POLICY", FEW)


@pytest.fixture
def config(config: Config, mail: MailReceiver) -> Config:
    server = MailServer(host="127.0.0.1", port=mail.port, security="none", sender="slipway@acme.dev")
    return config.model_copy(update={"mail": server})


async def reaches(client: httpx.AsyncClient, state: str) -> dict[str, Any]:
    """Waits until the e-mail to the person who was invited last has this state. Returns the state of the
    e-mail with its details.
    """

    async def last() -> dict[str, Any]:
        mail: dict[str, Any] = (await client.get(PEOPLE)).json()[-1]["invitation_mail"]
        return mail

    async def is_reached() -> bool:
        return (await last())["state"] == state

    await eventually(is_reached)
    return await last()


async def test_an_invitation_arrives_once_the_server_takes_it_and_its_link_signs_in(
    app: App, client: httpx.AsyncClient, owner: User, mail: MailReceiver
) -> None:
    # A line break in a name must not add a header or a line to the message.
    renamed = f"{owner.name}\nBcc: eve@harbour.dev"
    async with app.database.session() as session:
        (await session.get_one(User, owner.id)).name = renamed
    mail.replies.append("451 Come back later.")

    reply = await client.post(PEOPLE, json=ADA)
    assert reply.status_code == 201, reply.text
    assert reply.json()["sign_in_link"] is None
    sent = await reaches(client, "sent")

    ((recipients, message),) = mail.messages
    assert recipients == ["ada@harbour.dev"]
    assert (message["From"], message["To"]) == ("Slipway <slipway@acme.dev>", "ada@harbour.dev")
    assert (message["Subject"], message["Bcc"]) == ("Your invitation to Slipway", None)
    lines = message.get_content().split("\r\n")
    assert lines[0] == "Owner Bcc: eve@harbour.dev invites you to Slipway at http://localhost:3000"
    (url,) = [line for line in lines if "#token=" in line]
    until = sent["link_expires_at"][:16].replace("T", " ")
    assert f"The link works once, until {until} UTC. After that, ask for a new link." in lines
    assert (sent["address"], sent["error"]) == ("ada@harbour.dev", None)
    async with signed_in(app, {"url": url}) as browser:
        assert (await browser.get("/api/v1/users/me")).json()["name"] == "Ada"
    [_, ada] = (await client.get(PEOPLE)).json()
    assert ada["invitation_mail"] is None, "it has served its purpose"


async def test_an_invitation_that_is_sent_again_has_a_new_link_and_the_old_one_ends(
    app: App, client: httpx.AsyncClient, mail: MailReceiver
) -> None:
    mail.replies.append("550 There is no such person.")
    ada = (await client.post(PEOPLE, json=ADA)).json()["person"]["id"]
    await reaches(client, "failed")
    again = f"{PEOPLE}/{ada}/invitation-mail"
    urls: list[str] = []
    for number in (1, 2):
        reply = await client.post(again)
        assert reply.status_code == 202, reply.text
        assert reply.json()["invitation_mail"]["error"] is None
        await reaches(client, "sent")
        assert len(mail.messages) == number
        recipients, message = mail.messages[-1]
        assert recipients == ["ada@harbour.dev"]
        urls += [line for line in message.get_content().split("\r\n") if "#token=" in line]
    by_hand = (await client.post(f"{PEOPLE}/{ada}/sign-in-link")).json()["url"]

    def exchange(url: str) -> dict[str, str]:
        return {"token": url.partition("#token=")[2]}

    path = "/api/v1/sign-in/link"
    assert_problem(await client.post(path, json=exchange(urls[0])), 410, "sign_in_link_expired")
    async with signed_in(app, {"url": urls[1]}):
        assert_problem(await client.post(again), 409, "already_signed_in")
    grace = (await client.post(PEOPLE, json={"name": "Grace", "role": "member"})).json()
    refused = await client.post(f"{PEOPLE}/{grace['person']['id']}/invitation-mail")
    assert_problem(refused, 409, "not_invited_by_mail")
    async with signed_in(app, grace["sign_in_link"]), signed_in(app, {"url": by_hand}):
        pass
    async with app.database.read() as session:
        entries = await session.scalars(
            select(AuditEntry).where(AuditEntry.action == "invitation.sent_again")
        )
        found = [(entry.target_id, entry.details["email"]) for entry in entries]
    assert found == [(ada, "ada@harbour.dev")] * 2


async def test_a_failure_is_shown_beside_the_person(
    client: httpx.AsyncClient, mail: MailReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.replies.append("550 There is no such person.")
    await client.post(PEOPLE, json=ADA)
    refused = await reaches(client, "failed")
    assert refused["error"] == "The mail server answered 550: There is no such person."
    assert refused["sent_at"] is None

    mail.replies.extend(["451 Later."] * FEW.attempts)
    await client.post(PEOPLE, json=ADA)
    assert (await reaches(client, "failed"))["error"] == "The mail server answered 451: Later."
    assert not mail.replies, "the server has tried as often as its policy says"

    monkeypatch.setattr(delivery, "ADMINISTRATORS", frozenset[Role]())
    await client.post(PEOPLE, json=ADA)
    lost = await reaches(client, "failed")
    assert lost["error"] == "The person who invited is not an administrator any more."
    assert mail.messages == []

    for wrong in NOT_ADDRESSES:
        assert_problem(await client.post(PEOPLE, json={**ADA, "email": wrong}), 422, "validation_failed")
    assert len((await client.get(PEOPLE)).json()) == 4


class TestWithoutAMailServer:
    @pytest.fixture
    def config(self, config: Config) -> Config:
        return config.model_copy(update={"mail": None})

    async def test_an_address_is_refused(self, client: httpx.AsyncClient) -> None:
        assert_problem(await client.post(PEOPLE, json=ADA), 409, "no_mail_server")
        assert len((await client.get(PEOPLE)).json()) == 1
        assert not (await client.get("/api/v1/web-client/config")).json()["sends_mail"]
