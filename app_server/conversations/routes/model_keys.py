"""Routes for the model key of a conversation. With this key, programs in the conversation's sandbox call the
conversation's model.
"""

from datetime import datetime, timedelta
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.conversations import service
from app_server.core.database import ReadSession, Session, now
from app_server.users.tokens import new_token, token_hash

router = APIRouter(prefix="/api/v1/app-conversations/{conversation_id}/model-key", tags=["Conversations"])

MAX_HOURS = 7 * 24
_VARIABLES = {
    "OPENAI_BASE_URL": "$SLIPWAY_MODELS_URL/v1",
    "ANTHROPIC_BASE_URL": "$SLIPWAY_MODELS_URL",
}
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


class CreateModelKey(BaseModel):
    """The request body for creating a model key of a conversation. `hours`: how many hours the key is
    valid.
    """

    model_config = ConfigDict(extra="forbid")

    hours: int = Field(default=8, ge=1, le=MAX_HOURS)


class ModelKeyState(BaseModel):
    """The reply with the validity of a conversation's model key. `expires_at`: when the key expires; null if
    programs may not call the model, because there is no valid key.
    """

    expires_at: datetime | None


class ModelKey(BaseModel):
    """A new model key of a conversation. The key is returned only in this reply.

    `shell`: a shell command for the user to run in the sandbox. It sets environment variables, so that
    programs with the client libraries of OpenAI and Anthropic use the key and call the conversation's model.
    """

    key: str
    expires_at: datetime
    shell: str


@router.get("")
async def get_model_key(user: CurrentUser, session: ReadSession, conversation_id: UUID) -> ModelKeyState:
    """Returns the time until which programs in the sandbox may call the conversation's model. The time is
    null if programs may not call the model.
    """
    conversation = await service.require(session, user.id, conversation_id)
    until = conversation.model_key_until
    return ModelKeyState(expires_at=until if until and until > now() else None)


@router.post("", status_code=201)
async def create_model_key(
    user: CurrentUser, trail: CurrentTrail, session: Session, conversation_id: UUID, body: CreateModelKey
) -> ModelKey:
    """Creates a model key for the conversation. With the key, programs in the conversation's sandbox call the
    conversation's model. The costs count for the conversation's budget.

    The new key replaces an earlier key of the conversation. The key gives access only to this model and works
    only inside the sandbox.
    """
    conversation = await service.require(session, user.id, conversation_id)
    key, until = new_token(), now() + timedelta(hours=body.hours)
    conversation.model_key_hash, conversation.model_key_until = token_hash(key), until
    target = (AuditTarget.CONVERSATION, conversation_id)
    trail.record(session, AuditAction.MODEL_KEY_CREATED, target, hours=body.hours)
    return ModelKey(key=key, expires_at=until, shell=_shell(key))


@router.delete("", status_code=204)
async def revoke_model_key(
    user: CurrentUser, trail: CurrentTrail, session: Session, conversation_id: UUID
) -> None:
    """Revokes the conversation's model key. Model calls that have begun are completed. Does nothing if there
    is no key.
    """
    conversation = await service.require(session, user.id, conversation_id)
    if conversation.model_key_hash is None:
        return
    conversation.model_key_hash = conversation.model_key_until = None
    trail.record(session, AuditAction.MODEL_KEY_REVOKED, (AuditTarget.CONVERSATION, conversation_id))


def _shell(key: str) -> str:
    given = {**_VARIABLES, **dict.fromkeys(_KEYS, key)}
    return "export " + " ".join(f'{name}="{value}"' for name, value in given.items())
