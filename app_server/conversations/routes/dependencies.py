"""Dependencies of these routes: the viewer of this process and the conversation named in the path."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.conversations import service
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import AppConversation
from app_server.conversations.service import Workplace
from app_server.conversations.view import Viewer as _Viewer
from app_server.core.database import ReadSession
from app_server.gateway.exposed_urls import agent_server_url
from app_server.sandbox_records.models import SandboxStatus


def _viewer(connection: HTTPConnection) -> _Viewer:
    return _Viewer(connection.state.sandboxes)


Viewer = Annotated[_Viewer, Depends(_viewer)]


async def _workplace(request: Request, user: CurrentUser, viewer: Viewer, conversation_id: UUID) -> Workplace:
    # A separate session: none is held while the sandbox is asked.
    async with request.state.database.read() as session:
        return await service.workplace(session, viewer, user.id, conversation_id)


async def _owned(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> Conversation:
    return await service.require(session, user.id, conversation_id)


@dataclass(frozen=True)
class Links:
    """Creates the links to conversations, in the form that the current user can open."""

    request: Request
    principal: Principal

    def on(self, conversation: AppConversation) -> AppConversation:
        is_running = conversation.sandbox_status == SandboxStatus.RUNNING
        if not is_running or conversation.sandbox_id is None or not self.principal.may(Permission.WORK):
            return conversation
        base = agent_server_url(self.request, conversation.sandbox_id, self.principal.credential)
        url = f"{base}/api/conversations/{conversation.id.hex}"
        return conversation.model_copy(update={"conversation_url": url})


def _links(request: Request, principal: CurrentPrincipal) -> Links:
    return Links(request, principal)


Linked = Annotated[Links, Depends(_links)]
OwnedConversation = Annotated[Conversation, Depends(_owned)]
"""The conversation in the path, if it belongs to the current user. Otherwise the reply is 404."""


async def _owned_id(conversation: OwnedConversation) -> UUID:
    return conversation.id


OwnedWorkplace = Annotated[Workplace, Depends(_workplace)]
"""The workplace of the conversation in the path. It must belong to the current user and its
sandbox must run.
"""

OwnedConversationId = Annotated[UUID, Depends(_owned_id)]
"""Like OwnedConversation, but gives only the id."""
