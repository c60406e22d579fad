"""Routes for read-only links to conversations. Some routes are for the owner of the conversation. The other
routes are for readers who are not signed in.
"""

import asyncio
import time
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request, WebSocket

from app_server.access.audit_trail import CurrentTrail, address_of
from app_server.access.authentication import CurrentUser
from app_server.conversations.sharing import link_service
from app_server.conversations.sharing.link_models import ConversationLink
from app_server.conversations.sharing.link_readers import LinkEnded, LinkReaders, ServerLinkReaders
from app_server.conversations.sharing.link_schemas import (
    ConversationLinkInfo,
    CreateConversationLink,
    CreatedConversationLink,
    LinkedConversation,
)
from app_server.conversations.sharing.link_view import shown_frame
from app_server.conversations.sharing.own_secrets import own_secrets
from app_server.conversations.sharing.secret_scan import SecretScan
from app_server.core.database import Database, ReadSession, ServerDatabase, Session
from app_server.core.encryption import Cipher, ServerCipher
from app_server.core.errors import AppError, NotFound
from app_server.core.pubsub import Frame, ServerPubSub
from app_server.core.server_objects import ServerConfig
from app_server.events import stream
from app_server.events.log import read_body
from app_server.events.schemas import durable_frame
from app_server.http.middleware import SUBPROTOCOL

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/links", tags=["Conversations"])
open_router = APIRouter(prefix="/api/v1/linked-conversation", tags=["Conversations"])

TOKEN_SUBPROTOCOL = "slipway.link."  # noqa: S105 (a prefix)
"""The prefix of the WebSocket subprotocol that contains the token of a read-only link. Browsers send the
token in this way, because they cannot set headers on a WebSocket.
"""

_SECRETS_SECONDS = 30.0


@router.get("")
async def list_links(
    user: CurrentUser, session: ReadSession, conversation_id: UUID
) -> list[ConversationLinkInfo]:
    """Returns the read-only links of the conversation, the newest first. Links that have expired are included
    until they are removed.

    403 `conversation_access_missing` if the user is not the owner of the conversation.
    """
    found = await link_service.links_of(session, user.id, conversation_id)
    return [link_service.link_info(link) for link in found]


@router.post("", status_code=201)
async def create_link(
    user: CurrentUser,
    trail: CurrentTrail,
    database: ServerDatabase,
    config: ServerConfig,
    cipher: ServerCipher,
    conversation_id: UUID,
    body: CreateConversationLink,
) -> CreatedConversationLink:
    """Makes a read-only link to the conversation. Until the link expires, all people who have the link can
    read the conversation. Returns the link with its URL.

    409 `secrets_found` if secrets were found in the conversation and the owner has not agreed to show all of
    them. `findings` in this reply lists the secrets with their ids. To agree, the owner sends the request
    again with all these ids in `confirmed_findings`.

    409 `too_many_secrets_found` if more than 100 secrets are found. 409 `conversation_too_long_to_scan` if
    the conversation is too long to be searched for secrets. 409 `too_many_links` if the conversation has the
    maximum number of links.
    """
    # No transaction is open during the scan, which may take seconds.
    scanned = await link_service.scan(database, cipher, user.id, conversation_id)
    async with database.session() as session:
        link, token = await link_service.create_link(session, user.id, trail, conversation_id, body, scanned)
        shown = link_service.link_info(link)
    # In the fragment, so that the token is in no log of a server.
    return CreatedConversationLink(
        **shown.model_dump(), url=f"{config.base_url.rstrip('/')}/linked#token={token}"
    )


@router.delete("/{link_id}", status_code=204)
async def end_link(
    user: CurrentUser, trail: CurrentTrail, session: Session, conversation_id: UUID, link_id: UUID
) -> None:
    """Removes a read-only link. Open live streams of the link end within two seconds. 404 `link_not_found` if
    the conversation has no such link.
    """
    await link_service.end_link(session, user.id, trail, conversation_id, link_id)


@open_router.get("")
async def get_linked_conversation(
    link_readers: ServerLinkReaders,
    database: ServerDatabase,
    cipher: ServerCipher,
    request: Request,
    x_link_token: Annotated[str, Header(max_length=200)] = "",
) -> LinkedConversation:
    """Returns the title and times of the conversation to which a read-only link leads. The header
    `X-Link-Token` contains the token of the link. Needs no sign-in.

    404 `link_ended` if the link has expired, was removed or never existed. 429 `too_many_openings` if links
    are opened too often from the client's IP address.
    """
    link_readers.admit(address_of(request))
    async with database.read() as session:
        link, conversation = await link_service.open_link(session, x_link_token)
        secrets = await own_secrets(session, cipher, conversation.user_id)
    await link_service.touch_link(database, link)
    title = await asyncio.to_thread(SecretScan(secrets).hide, conversation.title or "")
    return LinkedConversation(
        title=title or None, created_at=conversation.created_at, expires_at=link.expires_at
    )


@open_router.websocket("/stream")
async def stream_linked_conversation(
    database: ServerDatabase,
    link_readers: ServerLinkReaders,
    cipher: ServerCipher,
    pubsub: ServerPubSub,
    websocket: WebSocket,
    after_seq: str = "0",
) -> None:
    """Streams the events of the conversation to which a read-only link leads, the stored ones and then the
    new ones. The parts of a reply that the model still writes are left out. Needs no sign-in. The client
    sends the token of the link in the header `X-Link-Token`. Browsers cannot set headers on a
    WebSocket, so they offer two subprotocols: `slipway`, and `slipway.link.TOKEN` with the token.
    """
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in websocket.scope["subprotocols"] else None)
    readers: LinkReaders = link_readers
    try:
        readers.admit(address_of(websocket))
        position = _position(after_seq)
        async with database.read() as session:
            link, conversation = await link_service.open_link(session, _token_of(websocket))
    except NotFound as error:
        await stream.close(websocket, stream.NO_SUCH_CONVERSATION, error=error.code, detail=error.detail)
        return
    except AppError as error:
        await stream.close(websocket, stream.TRY_LATER, error=error.code, detail=error.detail)
        return
    if not readers.has_free_stream(link):
        detail = "Too many people read this conversation by this link. Try again later."
        await stream.close(websocket, stream.TRY_LATER, error="too_many_streams", detail=detail)
        return
    await link_service.touch_link(database, link)
    shown = _Shown(database, cipher, link, conversation.user_id)
    try:
        async with readers.hold(link):
            await stream.serve(
                websocket,
                database=database,
                pubsub=pubsub,
                conversation_id=conversation.id,
                after_seq=position,
                greeting=_no_greeting,
                shown=shown.frame,
            )
    except LinkEnded:
        detail = "This link has ended."
        await stream.close(websocket, stream.NO_SUCH_CONVERSATION, error="link_ended", detail=detail)


class _Shown:
    """A converter for the readers of one read-only link. It converts messages (frames) of a conversation's
    live stream to messages that contain only what these readers may see.
    """

    def __init__(self, database: Database, cipher: Cipher, link: ConversationLink, owner_id: UUID) -> None:
        self._database = database
        self._cipher = cipher
        self._link = link
        self._owner_id = owner_id
        self._scan: SecretScan | None = None
        self._read_at = 0.0

    async def frame(self, frame: Frame) -> Frame | None:
        """Returns the message (frame) with only the data that readers of the link may see. Returns None if
        the readers may see nothing of the frame: for example, a part of an unfinished model reply, or output
        of a running command.
        """
        seq = frame.seq
        if seq is None:
            return frame if frame.text.startswith('{"type":"sync"') else None
        frame = await self._with_large_parts(frame, seq)
        scan = await self._secrets() if seq > self._link.scanned_through else None
        return await asyncio.to_thread(shown_frame, frame, scan)

    async def _with_large_parts(self, frame: Frame, seq: int) -> Frame:
        """Returns the message (frame) with the complete event. Large parts of an event are stored separately,
        and `frame` contains only references to them. The references are replaced by the parts, so that the
        parts are also searched for secrets. `seq`: the position of the event in the log.
        """
        if '"blobs":' not in frame.text:
            return frame
        async with self._database.read() as session:
            body = await read_body(session, self._link.conversation_id, seq)
        # If there is no body, the conversation was deleted meanwhile, and the stream will end soon.
        return frame if body is None else durable_frame(seq, body)

    async def _secrets(self) -> SecretScan:
        # The owner may have saved another secret since.
        if self._scan is None or time.monotonic() - self._read_at > _SECRETS_SECONDS:
            async with self._database.read() as session:
                self._scan = SecretScan(await own_secrets(session, self._cipher, self._owner_id))
            self._read_at = time.monotonic()
        return self._scan


async def _no_greeting() -> list[Frame]:
    return []


def _token_of(websocket: WebSocket) -> str:
    offered: list[str] = websocket.scope["subprotocols"]
    found = [one for one in offered if one.startswith(TOKEN_SUBPROTOCOL)]
    return found[0].removeprefix(TOKEN_SUBPROTOCOL) if found else websocket.headers.get("x-link-token", "")


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise NotFound("after_seq is not a position.", code="bad_after_seq")
    return int(text)
