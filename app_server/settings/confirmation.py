"""The setting that decides when agents ask their user before they act. A task can override it."""

from enum import StrEnum
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.settings.models import UserSettings

router = APIRouter(prefix="/api/v1/settings/confirmation", tags=["Settings"])


class ConfirmationMode(StrEnum):
    """The steps before which the agent asks: every step, risky steps, or none."""

    ALWAYS = "always"
    RISKY = "risky"
    NEVER = "never"


class SetConfirmation(BaseModel):
    """`mode`: null means the default for the sandbox."""

    mode: ConfirmationMode | None


class ConfirmationSettings(SetConfirmation):
    """The user's setting. `default_mode`: the mode that null means here. The default is `never` if the
    sandbox is isolated.
    """

    default_mode: ConfirmationMode


def default_mode(*, is_isolated: bool) -> ConfirmationMode:
    return ConfirmationMode.NEVER if is_isolated else ConfirmationMode.RISKY


async def chosen_mode(session: AsyncSession, user_id: UUID) -> ConfirmationMode | None:
    settings = await session.get(UserSettings, user_id)
    return ConfirmationMode(settings.confirmation_mode) if settings and settings.confirmation_mode else None


@router.get("")
async def get_confirmation(user: CurrentUser, session: ReadSession, request: Request) -> ConfirmationSettings:
    return _shown(request, await chosen_mode(session, user.id))


@router.put("")
async def set_confirmation(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetConfirmation, request: Request
) -> ConfirmationSettings:
    """Sets the mode. It applies to tasks that start from now on."""
    await session.merge(UserSettings(user_id=user.id, confirmation_mode=body.mode))
    await session.flush()
    target = (AuditTarget.CONFIRMATION, "user")
    trail.record(session, AuditAction.CONFIRMATION_CHANGED, target, mode=body.mode or "default")
    return _shown(request, body.mode)


def _shown(request: Request, mode: ConfirmationMode | None) -> ConfirmationSettings:
    is_isolated = request.state.sandboxes.describe().is_isolated
    return ConfirmationSettings(mode=mode, default_mode=default_mode(is_isolated=is_isolated))
