"""The setting that says for which tool calls an agent needs the user's confirmation, with its routes. A
request that starts a conversation can override the setting.
"""

from enum import StrEnum
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.http.strict_body import StrictBody
from app_server.levels.models import SettingName
from app_server.levels.service import save_own, value_for

router = APIRouter(prefix="/api/v1/settings/confirmation", tags=["Settings"])


class ConfirmationMode(StrEnum):
    """The tool calls for which the agent needs the user's confirmation: all calls, risky calls, or none."""

    ALWAYS = "always"
    RISKY = "risky"
    NEVER = "never"


class SetConfirmation(StrictBody):
    """A request to set the user's confirmation mode. The mode says for which tool calls the agent needs the
    user's confirmation. `mode`: null deletes the user's own mode, so that the mode of a team or the
    organisation applies, or else the default mode.
    """

    mode: ConfirmationMode | None


class ConfirmationSettings(SetConfirmation):
    """The HTTP reply with the confirmation mode that applies to the user. The mode says for which tool calls
    the agent needs the user's confirmation.

    `mode`: the mode that the user, a team or the organisation has set; null if none of them has set one.
    `default_mode`: the mode that applies if `mode` is null. It is `never` if sandboxes are isolated from the
    server's machine, otherwise `risky`.
    """

    model_config = ConfigDict(extra="ignore")

    default_mode: ConfirmationMode


def default_mode(*, is_isolated: bool) -> ConfirmationMode:
    return ConfirmationMode.NEVER if is_isolated else ConfirmationMode.RISKY


async def chosen_mode(session: AsyncSession, user_id: UUID) -> ConfirmationMode | None:
    """Returns the confirmation mode that applies to a user. The mode says for which tool calls an agent needs
    the user's confirmation. Returns None if neither the user, a team of the user nor the organisation has set
    one.
    """
    chosen = await value_for(session, user_id, SettingName.CONFIRMATION_MODE)
    return None if chosen is None else ConfirmationMode(chosen.value)


async def mode_of_task(
    session: AsyncSession, user_id: UUID, wanted: ConfirmationMode | None
) -> ConfirmationMode | None:
    """Returns the confirmation mode of a new conversation. The mode says for which tool calls the agent needs
    the user's confirmation. `wanted`: the mode in the request that starts the conversation; None if the
    request names none.

    The result is the first of these modes that is set: the mode that the organisation or a team enforces (so
    that users cannot choose another); `wanted`; the mode that the user, a team or the organisation has set.
    Returns None if there is none of them.
    """
    value = await value_for(session, user_id, SettingName.CONFIRMATION_MODE)
    if wanted is not None and (value is None or not value.enforced):
        return wanted
    return None if value is None else ConfirmationMode(value.value)


@router.get("")
async def get_confirmation(user: CurrentUser, session: ReadSession, request: Request) -> ConfirmationSettings:
    return _confirmation_settings(request, await chosen_mode(session, user.id))


@router.put("")
async def set_confirmation(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetConfirmation, request: Request
) -> ConfirmationSettings:
    """Sets the user's confirmation mode, which says for which tool calls an agent needs the user's
    confirmation. Returns the mode that applies. The mode applies to conversations that are started from now
    on. Replies 403 `setting_enforced` if the organisation or a team has set another mode that users cannot
    override.
    """
    await save_own(session, user.id, SettingName.CONFIRMATION_MODE, body.mode and body.mode.value)
    target = (AuditTarget.CONFIRMATION, "user")
    trail.record(session, AuditAction.CONFIRMATION_CHANGED, target, mode=body.mode or "default")
    return _confirmation_settings(request, await chosen_mode(session, user.id))


def _confirmation_settings(request: Request, mode: ConfirmationMode | None) -> ConfirmationSettings:
    is_isolated = request.state.sandboxes.describe().is_isolated
    return ConfirmationSettings(mode=mode, default_mode=default_mode(is_isolated=is_isolated))
