"""The API keys that act for the current user."""

from uuid import UUID

from fastapi import APIRouter

from app_server.database import ReadSession, Session
from app_server.users import service
from app_server.users.auth import CurrentUser
from app_server.users.models import ApiKey
from app_server.users.schemas import ApiKeyInfo, CreateApiKey, CreatedApiKey

router = APIRouter(prefix="/api/v1", tags=["Users"])


@router.get("/api-keys", response_model=list[ApiKeyInfo])
async def list_api_keys(user: CurrentUser, session: ReadSession) -> list[ApiKey]:
    return await service.list_api_keys(session, user)


@router.post("/api-keys", status_code=201)
async def create_api_key(user: CurrentUser, session: Session, body: CreateApiKey) -> CreatedApiKey:
    row, key = await service.create_api_key(session, user, name=body.name)
    return CreatedApiKey(**ApiKeyInfo.model_validate(row).model_dump(), key=key)


@router.delete("/api-keys/{api_key_id}", status_code=204)
async def delete_api_key(user: CurrentUser, session: Session, api_key_id: UUID) -> None:
    await service.delete_api_key(session, user, api_key_id)
