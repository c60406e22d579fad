"""FastAPI dependencies of the conversation routes. For example, one dependency loads the conversation that
the path names, and checks the user's access to this conversation.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.conversations import service
from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.repositories.workplaces import Workplace
from app_server.conversations.schemas import AppConversation, StartTaskInfo
from app_server.conversations.sharing.access import Access, require_no_private_neighbours
from app_server.conversations.view import Viewer as _Viewer
from app_server.conversations.view import show_task
from app_server.core.database import ReadSession
from app_server.gateway.exposed_urls import agent_server_key, agent_server_url
from app_server.sandbox_records.models import SandboxStatus


def _viewer(connection: HTTPConnection) -> _Viewer:
    return _Viewer(connection.state.sandboxes)


Viewer = Annotated[_Viewer, Depends(_viewer)]


def _workplace_for(access: Access) -> Callable[..., Awaitable[Workplace]]:
    async def workplace(
        request: Request, user: CurrentUser, viewer: Viewer, conversation_id: UUID
    ) -> Workplace:
        # This session is separate, so that no session is open while the sandbox is called.
        async with request.state.database.read() as session:
            return await service.workplace(session, viewer, user.id, conversation_id, access)

    return workplace


async def _seen(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> Conversation:
    return await service.require(session, user.id, conversation_id, Access.VIEW)


async def _steered(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> Conversation:
    conversation = await service.require(session, user.id, conversation_id, Access.STEER)
    await require_no_private_neighbours(session, user.id, conversation, Access.STEER)
    return conversation


async def _owned(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> Conversation:
    return await service.require(session, user.id, conversation_id)


@dataclass(frozen=True)
class Links:
    """Adds URLs of the agent server to conversations and start tasks (the progress of starting a
    conversation) in a reply of the API. With these URLs, a client of the current user can call the agent
    server. A conversation gets URLs only if it belongs to the user and its sandbox runs. A start task gets
    them only when the start is finished. In both cases, the user needs the permission to work.
    """

    request: Request
    principal: Principal

    def on(self, conversation: AppConversation) -> AppConversation:
        is_running = conversation.sandbox_status == SandboxStatus.RUNNING
        is_own = conversation.created_by_user_id == self.principal.user.id
        may_work = is_own and self.principal.may(Permission.WORK)
        if not is_running or conversation.sandbox_id is None or not may_work:
            return conversation
        sandbox_id, credential = conversation.sandbox_id, self.principal.credential
        base = agent_server_url(self.request, sandbox_id)
        opened = {
            "conversation_url": f"{base}/api/conversations/{conversation.id.hex}",
            "session_api_key": agent_server_key(self.request, sandbox_id, credential, conversation.id),
        }
        return conversation.model_copy(update=opened)

    def task(self, task: StartTask) -> StartTaskInfo:
        """Returns the start task (the progress of starting a conversation) in the form in which the API shows
        it. If the conversation has started and the user may work with it, the result contains the URL of the
        agent server.
        """
        if task.status != StartStatus.READY or not self.principal.may(Permission.WORK):
            return show_task(task)
        return show_task(task, agent_server_url(self.request, task.sandbox_id))


def _links(request: Request, principal: CurrentPrincipal) -> Links:
    return Links(request, principal)


Linked = Annotated[Links, Depends(_links)]
OwnedConversation = Annotated[Conversation, Depends(_owned)]
"""The conversation in the path, if it belongs to the current user. Otherwise the reply is 404, or 403 if the
conversation is shared with the user.
"""


SeenConversation = Annotated[Conversation, Depends(_seen)]
"""The conversation in the path, if the current user may view it. Otherwise the reply is 404."""

SteeredConversation = Annotated[Conversation, Depends(_steered)]
"""The conversation in the path, if the current user may steer it, that is, send messages and control the
agent. Otherwise the reply is an error: 404 if the user may not view the conversation, 403 if the user may
only view it, and 409 `sandbox_holds_private_work` if another conversation in the sandbox is not shared with
the user.
"""


async def _seen_id(conversation: SeenConversation) -> UUID:
    return conversation.id


async def _owned_id(conversation: OwnedConversation) -> UUID:
    return conversation.id


OwnedWorkplace = Annotated[Workplace, Depends(_workplace_for(Access.OWN))]
"""The directories of the conversation in the path, with an API client for its agent server. The conversation
must belong to the current user, and its sandbox must run.
"""

SeenWorkplace = Annotated[Workplace, Depends(_workplace_for(Access.VIEW))]
"""The directories of the conversation in the path, with an API client for its agent server, if the current
user may view the conversation. The reply is 409 `sandbox_holds_private_work` if another conversation in the
sandbox is not shared with the user.
"""

SeenConversationId = Annotated[UUID, Depends(_seen_id)]
"""The id of the conversation in the path, if the current user may view the conversation. Otherwise the reply
is 404.
"""

OwnedConversationId = Annotated[UUID, Depends(_owned_id)]
"""The id of the conversation in the path, if the conversation belongs to the current user. Otherwise the
reply is 404, or 403 if the conversation is shared with the user.
"""
