"""The setting that decides before which tool calls an agent asks its user. A task can override it."""

from enum import StrEnum
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.levels.models import SettingName
from app_server.levels.service import save_own, value_for

router = APIRouter(prefix="/api/v1/settings/confirmation", tags=["Settings"])


class ConfirmationMode(StrEnum):
    """The tool calls before which the agent asks its user: all calls, risky calls, or none."""

    ALWAYS = "always"
    RISKY = "risky"
    NEVER = "never"


class SetConfirmation(BaseModel):
    """The request body that sets the user's confirmation mode. `mode`: null deletes the user's own mode, so
    that the default applies.
    """

    mode: ConfirmationMode | None


class ConfirmationSettings(SetConfirmation):
    """The confirmation mode that applies to the user: the user's own mode, a team's or the organisation's.
    `default_mode`: the mode that applies if no mode is set. The default is `never` if the sandbox is
    isolated.
    """

    default_mode: ConfirmationMode


def default_mode(*, is_isolated: bool) -> ConfirmationMode:
    return ConfirmationMode.NEVER if is_isolated else ConfirmationMode.RISKY


async def chosen_mode(session: AsyncSession, user_id: UUID) -> ConfirmationMode | None:
    """Returns the confirmation mode that applies to a user. Returns None if neither the user, a team nor the
    organisation sets one.
    """
    chosen = await value_for(session, user_id, SettingName.CONFIRMATION_MODE)
    return None if chosen is None else ConfirmationMode(chosen.value)


async def mode_of_task(
    session: AsyncSession, user_id: UUID, wanted: ConfirmationMode | None
) -> ConfirmationMode | None:
    """Returns the confirmation mode of a task. wanted: the mode in the request for the task. An enforced mode
    overrides it.

    Returns None if the request names no mode and no level sets one.
    """
    value = await value_for(session, user_id, SettingName.CONFIRMATION_MODE)
    if wanted is not None and (value is None or not value.enforced):
        return wanted
    return None if value is None else ConfirmationMode(value.value)


@router.get("")
async def get_confirmation(user: CurrentUser, session: ReadSession, request: Request) -> ConfirmationSettings:
    return _shown(request, await chosen_mode(session, user.id))


@router.put("")
async def set_confirmation(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetConfirmation, request: Request
) -> ConfirmationSettings:
    """Sets the user's confirmation mode. The mode applies to tasks that are started from now on. 403
    `setting_enforced`.
    """
    await save_own(session, user.id, SettingName.CONFIRMATION_MODE, body.mode and body.mode.value)
    target = (AuditTarget.CONFIRMATION, "user")
    trail.record(session, AuditAction.CONFIRMATION_CHANGED, target, mode=body.mode or "default")
    return _shown(request, await chosen_mode(session, user.id))


def _shown(request: Request, mode: ConfirmationMode | None) -> ConfirmationSettings:
    is_isolated = request.state.sandboxes.describe().is_isolated
    return ConfirmationSettings(mode=mode, default_mode=default_mode(is_isolated=is_isolated))
