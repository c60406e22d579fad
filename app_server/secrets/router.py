"""Routes for the current user's secrets. Replies contain names and descriptions. Values can be set and
replaced, but not read.
"""

from typing import Annotated

from fastapi import APIRouter, Query

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import ServerCipher
from app_server.core.pagination import Limit, Page, PageId
from app_server.core.success_reply import Done
from app_server.secrets import service
from app_server.secrets.schemas import (
    ChangeSecret,
    SavedSecret,
    SaveSecret,
    SecretInfo,
    SecretNameInPath,
)

router = APIRouter(prefix="/api/v1/secrets", tags=["Secrets"])


@router.get("/search")
async def search_secrets(
    user: CurrentUser,
    session: ReadSession,
    name__contains: Annotated[str | None, Query(max_length=128)] = None,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[SecretInfo]:
    """Returns a page of the user's secrets, sorted by name. `name__contains`: returns only secrets whose
    names contain this text; upper and lower case are not distinguished. Null returns all secrets.
    """
    rows, next_page_id = await service.search_secrets(
        session, user.id, name_contains=name__contains, page_id=page_id, limit=limit
    )
    return Page(items=[SecretInfo.model_validate(row) for row in rows], next_page_id=next_page_id)


@router.post("", status_code=201)
async def save_secret(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SaveSecret, cipher: ServerCipher
) -> SavedSecret:
    """Adds a secret, or replaces the secret with the same name. Agents get the new value from their next
    command on.
    """
    row, is_new = await service.save_secret(session, cipher, user.id, body)
    action = AuditAction.SECRET_CREATED if is_new else AuditAction.SECRET_CHANGED
    trail.record(session, action, (AuditTarget.SECRET, row.name))
    return SavedSecret(name=row.name, description=row.description, message="The secret is saved.")


@router.put("/{name}")
async def change_secret(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    name: SecretNameInPath,
    body: ChangeSecret,
    cipher: ServerCipher,
) -> SavedSecret:
    row = await service.change_secret(session, cipher, user.id, name, body)
    renamed = None if row.name == name else row.name
    has_value = body.value is not None
    target = (AuditTarget.SECRET, name)
    trail.record(session, AuditAction.SECRET_CHANGED, target, new_name=renamed, has_new_value=has_value)
    return SavedSecret(name=row.name, description=row.description, message="The secret is changed.")


@router.delete("/{name}")
async def delete_secret(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: SecretNameInPath
) -> Done:
    """Deletes a secret of the user. Agents cannot use the secret any more."""
    await service.delete_secret(session, user.id, name)
    trail.record(session, AuditAction.SECRET_DELETED, (AuditTarget.SECRET, name))
    return Done(message="The secret is deleted.")
