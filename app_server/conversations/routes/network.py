"""Routes that list the refused network requests of a conversation and store the user's decisions about the
requested hosts.
"""

from uuid import UUID

from fastapi import APIRouter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations import refused_hosts as network
from app_server.conversations import service
from app_server.conversations.refused_hosts import AnswerNetwork, ConversationNetwork
from app_server.core.database import ReadSession, Session
from app_server.core.server_objects import ServerConfig

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/network", tags=["Conversations"])


@router.get("")
async def get_conversation_network(
    user: CurrentUser, session: ReadSession, conversation_id: UUID, config: ServerConfig
) -> ConversationNetwork:
    """Returns the conversation's network mode, the hosts that were allowed only for this conversation, and
    the refused hosts that the user has not decided about.
    """
    conversation = await service.require(session, user.id, conversation_id)
    return await network.network_of(session, config, conversation)


@router.post("/answer")
async def answer_refused_host(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    conversation_id: UUID,
    body: AnswerNetwork,
    config: ServerConfig,
) -> ConversationNetwork:
    """Stores the user's decision about a refused host. The decision applies to all later network requests.

    400 `no_repository` if the host is to be allowed for the repository but the conversation has no
    repository. 409 `too_many_hosts` if the list of allowed or ignored hosts has its maximum length.
    """
    conversation = await service.require(session, user.id, conversation_id)
    await network.answer(session, conversation, body)
    trail.record(
        session,
        AuditAction.EGRESS_CHANGED,
        (AuditTarget.CONVERSATION, conversation_id),
        host=body.host,
        port=body.port,
        answer=body.answer,
    )
    return await network.network_of(session, config, conversation)
