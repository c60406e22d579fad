"""The current user's secrets: names and descriptions. Values can be set and replaced, never read."""

from fastapi import APIRouter, Request

from app_server.database import ReadSession, Session
from app_server.pagination import Page
from app_server.secrets import service
from app_server.secrets.models import Secret
from app_server.secrets.schemas import ChangeSecret, SaveSecret, SecretInfo, SecretNameInPath
from app_server.users.auth import CurrentUser

router = APIRouter(prefix="/api/v1/secrets", tags=["Secrets"])


@router.get("/search")
async def search_secrets(user: CurrentUser, session: ReadSession) -> Page[SecretInfo]:
    """All of them, by name, on one page."""
    rows = await service.list_secrets(session, user.id)
    return Page(items=[SecretInfo.model_validate(row) for row in rows], next_page_id=None)


@router.post("", status_code=201, response_model=SecretInfo)
async def save_secret(user: CurrentUser, session: Session, body: SaveSecret, request: Request) -> Secret:
    """Adds it, or replaces the one of the same name: agents get the new value from their next command on."""
    return await service.save_secret(session, request.state.cipher, user.id, body)


@router.put("/{name}", response_model=SecretInfo)
async def change_secret(
    user: CurrentUser, session: Session, name: SecretNameInPath, body: ChangeSecret, request: Request
) -> Secret:
    return await service.change_secret(session, request.state.cipher, user.id, name, body)


@router.delete("/{name}", status_code=204)
async def delete_secret(user: CurrentUser, session: Session, name: SecretNameInPath) -> None:
    """Agents that were told of it cannot use it any more."""
    await service.delete_secret(session, user.id, name)
