"""Schemas of requests and replies about callbacks and deliveries. A callback is an action that runs for
matching events of conversations. A delivery is one run of a callback for one event.
"""

from enum import StrEnum
from typing import Annotated, Self

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app_server.callbacks.models import MAX_NAME_CHARACTERS, Processor
from app_server.core.database import Id, Timestamp
from app_server.core.mail.address import EmailAddress

_Word = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.:\-]+$")]
_Words = Annotated[list[_Word], Field(max_length=50)]
_Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]


def _web_address(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise ValueError("this is not a URL") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("the URL must begin with https:// or http:// and name a host")
    if url.userinfo:
        raise ValueError("the URL must not contain a user name or a password")
    return text


WebhookUrl = Annotated[str, Field(max_length=2000), AfterValidator(_web_address)]


_Instructions = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")]
WITH_FILTER = {Processor.CHAT, Processor.MAIL, Processor.COMMENT, Processor.TASK}
"""The kinds of callbacks that need at least one filter, because each event for which they run sends a text to
people or starts an agent.
"""
FILTER_NEEDED = "A callback for chat, mail, comments or tasks needs a filter, such as statuses."
_CALLING = {Processor.WEBHOOK, Processor.CHAT}


class CallbackFilters(BaseModel):
    """The filters of a callback: four lists of allowed values. The callback runs for an event only if all
    four lists allow the event. An empty list allows every event.

    `kinds`: kinds of events, such as `MessageEvent`. `sources`: who has caused the event: `user`, `agent` or
    `environment`. `tools`: names of tools; allows the events in which the agent calls one of these tools, and
    the events with the result of such a call. `statuses`: execution statuses of the conversation, such as
    `finished`; allows the events that change the status to one of them.
    """

    model_config = ConfigDict(extra="forbid")

    kinds: _Words = []
    sources: _Words = []
    tools: _Words = []
    statuses: _Words = []


class AddCallback(CallbackFilters):
    """A request to add a callback. `processor`: the kind of the callback. `url`: required for `webhook` and
    `chat`, not allowed for other kinds; for `chat` it is the URL of an incoming webhook of Slack, Mattermost
    or a compatible chat. `email`: required for `mail`, not allowed for other kinds. `instructions`: what the
    agent must do; required for `task`, not allowed for other kinds.

    `conversation_id`: one of the user's conversations; without it, the callback runs for all of the user's
    conversations. `is_for_everyone`: whether the callback runs for the conversations of all users of the
    organisation; needs the permission `administer`. It is not allowed for `task`, or together with
    `conversation_id`.

    A callback of the kind `comment` writes on the open pull requests of the conversation in which the event
    happened. If there are none, it writes on the issue or pull request that has started this conversation.
    The comment is written with the user's token for the git host.

    A callback of the kind `task` starts a new conversation on the same repositories as the conversation in
    which the event happened. It does not run for events of sub-conversations, or of conversations that a
    callback has started. Callbacks of the kinds `chat`, `mail`, `comment` and `task` need at least one filter
    that is not empty.
    """

    name: _Name
    processor: Processor = Processor.WEBHOOK
    url: WebhookUrl | None = None
    email: EmailAddress | None = None
    instructions: _Instructions | None = None
    conversation_id: Id | None = None
    is_for_everyone: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.url is None) == (self.processor in _CALLING):
            raise ValueError("a webhook and a chat need a url, and other callbacks have none")
        if (self.email is None) == (self.processor is Processor.MAIL):
            raise ValueError("mail needs an email, and other callbacks have none")
        if (self.instructions is None) == (self.processor is Processor.TASK):
            raise ValueError("a task needs instructions, and other callbacks have none")
        if self.processor is Processor.TASK and self.is_for_everyone:
            raise ValueError("a task is started only for your own conversations")
        if self.processor in WITH_FILTER and not (self.kinds or self.sources or self.tools or self.statuses):
            raise ValueError(FILTER_NEEDED)
        if self.is_for_everyone and self.conversation_id is not None:
            raise ValueError("a callback is for one conversation or for everyone, not both")
        return self


class ChangeCallback(BaseModel):
    """A request to change a callback. A field that is left out or null keeps its present value."""

    model_config = ConfigDict(extra="forbid")

    name: _Name | None = None
    url: WebhookUrl | None = None
    instructions: _Instructions | None = None
    kinds: _Words | None = None
    sources: _Words | None = None
    tools: _Words | None = None
    statuses: _Words | None = None
    is_enabled: bool | None = None


class CallbackInfo(CallbackFilters):
    """A callback of the user in an API reply. `processor`: the kind of the callback. `host`: the host name in
    the callback's URL; the URL itself is not shown, because it may contain a secret. `email`: only for
    callbacks of the kind `mail`. `instructions`: only for callbacks of the kind `task`. `conversation_id`:
    the only conversation for which the callback runs; null if the callback runs for all conversations.
    `previous_secret_until`: until this time, messages are also signed with the previous secret.
    """

    id: Id
    name: str
    processor: Processor
    host: str | None
    email: str | None
    instructions: str | None
    conversation_id: Id | None
    is_for_everyone: bool
    is_enabled: bool
    disabled_reason: str | None
    previous_secret_until: Timestamp | None
    created_at: Timestamp


class CallbackWithSecret(CallbackInfo):
    """The reply with a new callback, or with a callback whose secret was replaced. `secret`: the secret that
    signs the callback's messages; null if the callback is not a webhook. No other reply shows the secret.
    """

    secret: str | None


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class DeliveryInfo(BaseModel):
    """An API reply: the delivery of one event for one callback. `message_id`: the value of the header
    `webhook-id`. `seq`: the position of the event in the conversation's log. `status_code`, `error`,
    `duration_ms`: the result of the last attempt. `next_attempt_at`: the time of the next attempt; null if no
    further attempt is planned. `started_conversation_id`: the conversation that a callback of the kind `task`
    has started.
    """

    id: Id
    message_id: str
    conversation_id: Id
    seq: int
    event_kind: str
    state: DeliveryState
    attempts: int
    status_code: int | None
    error: str | None
    duration_ms: int | None
    created_at: Timestamp
    delivered_at: Timestamp | None
    next_attempt_at: Timestamp | None
    started_conversation_id: Id | None


class RotateSecret(BaseModel):
    """A request to give a webhook a new secret. `keep_previous_hours`: for how many hours messages are also
    signed with the previous secret, so that the receiver has time to change to the new one; 0 means not at
    all.
    """

    model_config = ConfigDict(extra="forbid")

    keep_previous_hours: Annotated[int, Field(ge=0, le=720)] = 24
