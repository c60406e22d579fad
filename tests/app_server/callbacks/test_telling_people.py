"""Tests of callbacks that send messages to people: in a chat, and by e-mail."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app_server import lifespan
from app_server.callbacks.texts import MAX_CHARACTERS, describe_event
from app_server.conversations.models import Conversation
from app_server.core.config import Config
from app_server.core.mail.server import MailServer
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.callbacks.test_webhooks_out import PATH, QUICK, conversation_of, reaches, report
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.support.mail_receiver import MailReceiver

FINISHED = {
    "kind": "ConversationStateUpdateEvent",
    "source": "environment",
    "key": "execution_status",
    "value": "finished",
}
STATUSES = {"statuses": ["finished", "error"]}


@dataclass
class Chat:
    url: str = ""
    heard: list[Any] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.heard.append((await request.json(), request.headers.get("webhook-signature")))
        await Response("ok")(scope, receive, send)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "DELIVERY_POLICY", QUICK)


@pytest.fixture
def config(config: Config, mail: MailReceiver) -> Config:
    server = MailServer(
        host="127.0.0.1",
        port=mail.port,
        security="none",
        sender="slipway@acme.dev",
        recipients=("team@acme.dev", "harbour.dev"),
    )
    return config.model_copy(update={"mail": server, "public_url": "https://slipway.acme.dev"})


@pytest.fixture
async def chat() -> AsyncIterator[Chat]:
    chat = Chat()
    async with listening(chat) as url:
        chat.url = f"{url}/services/T0/B0/hidden"
        yield chat


async def test_a_chat_is_told_in_words_that_notify_no_one(
    app: App, client: httpx.AsyncClient, owner: User, chat: Chat
) -> None:
    conversation_id = await conversation_of(app, owner)
    async with app.database.session() as session:
        (await session.get_one(Conversation, conversation_id)).title = "Mend <the> net"
    wanted = {
        "name": "Team",
        "processor": "chat",
        "url": chat.url,
        "kinds": ["MessageEvent", FINISHED["kind"]],
    }
    added = await client.post(PATH, json=wanted)
    callback = added.json()
    text = "Done, @channel & <!here>"
    message = {"llm_message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}

    await report(app, conversation_id, message, FINISHED)
    await reaches(client, callback, "delivered", 2)

    url = f"https://slipway.acme.dev/conversations/{conversation_id.hex}"
    inert = "Done, @\u200bchannel &amp; &lt;!here&gt;"
    assert [body["text"] for body, _ in chat.heard] == [
        f"*Mend &lt;the&gt; net*\nThe agent: {inert}\n{url}",
        f"*Mend &lt;the&gt; net*\nThe agent has finished.\n{url}",
    ]
    assert [signature for _, signature in chat.heard] == [None, None]
    assert (callback["secret"], callback["host"], callback["email"]) == (None, "127.0.0.1", None)


async def test_mail_arrives_once_the_server_takes_it_and_a_refusal_is_final(
    app: App, client: httpx.AsyncClient, owner: User, mail: MailReceiver
) -> None:
    conversation_id = await conversation_of(app, owner)
    mail.replies.append("451 Come back later.")
    wanted = {"name": "Mail", "processor": "mail", "email": "ada@anywhere.dev", **STATUSES}
    callback = (await client.post(PATH, json=wanted)).raise_for_status().json()

    await report(app, conversation_id, FINISHED)
    (delivery,) = await reaches(client, callback, "delivered")
    mail.replies.append("550 There is no such person.")
    await report(app, conversation_id, {**FINISHED, "value": "error"}, after=1)
    (refused,) = await reaches(client, callback, "failed")

    ((recipients, message),) = mail.messages
    assert recipients == ["ada@anywhere.dev"]
    assert (message["From"], message["Subject"]) == ("Slipway <slipway@acme.dev>", "A conversation")
    assert message["Message-ID"] == f"<{delivery['message_id']}@acme.dev>"
    assert message.get_content() == (
        f"The agent has finished.\r\n\r\nhttps://slipway.acme.dev/conversations/{conversation_id.hex}\r\n"
    )
    assert delivery["attempts"] == 2
    assert (refused["attempts"], refused["error"]) == (
        1,
        "The mail server answered 550: There is no such person.",
    )
    assert (callback["email"], callback["host"]) == ("ada@anywhere.dev", None)


async def test_people_write_only_to_recipients_that_are_named(app: App) -> None:
    async with app.database.session() as session:
        member = await create_user(session, name="Member", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="key")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as client:

        async def status(email: str) -> httpx.Response:
            wanted = {"name": "Mail", "processor": "mail", "email": email, **STATUSES}
            return await client.post(PATH, json=wanted)

        assert (await status("team@acme.dev")).status_code == 201
        assert (await status("Bo@Harbour.dev")).status_code == 201
        assert_problem(await status("other@acme.dev"), 403, "recipient_not_allowed")
        assert_problem(await status("bo@not-harbour.dev"), 403, "recipient_not_allowed")


@pytest.mark.parametrize(
    "wanted",
    [
        {"processor": "chat", "url": "https://chat.dev/hook"},
        {"processor": "chat", **STATUSES},
        {"processor": "mail", **STATUSES},
        {"processor": "mail", "email": "a@b.dev, c@d.dev", **STATUSES},
        {"processor": "mail", "email": "a@b.dev\nBcc: c@d.dev", **STATUSES},
        {"processor": "webhook", "url": "https://acme.dev", "email": "a@b.dev"},
    ],
)
async def test_callbacks_without_a_receiver_or_a_filter_are_refused(
    client: httpx.AsyncClient, wanted: dict[str, Any]
) -> None:
    assert_problem(await client.post(PATH, json={"name": "x", **wanted}), 422, "validation_failed")


def test_words_are_short_and_of_one_shape() -> None:
    long = {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {"content": [{"type": "text", "text": "x" * 5_000}]},
    }
    finish = {"kind": "ActionEvent", "tool_name": "finish", "action": {"message": "All green."}}
    broken = {"kind": "ConversationErrorEvent", "detail": "No money left."}

    assert len(describe_event(long, title="T", url="u").text) == MAX_CHARACTERS
    assert describe_event(finish, title="A\nB", url="u") == describe_event(finish, title="A B", url="u")
    assert describe_event(finish, title=None, url="u").text == "The agent: All green."
    assert describe_event(broken, title=None, url="u").text == "An error: No money left."
    assert describe_event(
        {"kind": "ObservationEvent", "tool_name": "terminal"}, title=None, url="u"
    ).text == ("ObservationEvent (terminal)")
