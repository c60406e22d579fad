"""The routes of the OpenHands API for all settings together and for the current user."""

from fastapi import APIRouter, Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser, require_user
from app_server.all_settings.form import SettingsSchema, agent_schema, conversation_schema
from app_server.all_settings.schemas import CurrentUserInfo, Saved, SaveSettings, SettingsInfo
from app_server.all_settings.service import SettingsStore
from app_server.core.database import ReadSession, Session
from app_server.core.errors import Forbidden
from app_server.sandbox_specs.permission import permission_of
from app_server.settings.confirmation import default_mode
from app_server.users.models import User
from app_server.users.organisations import Organisation
from app_server.users.schemas import UserInfo

router = APIRouter(prefix="/api/v1", tags=["Settings"])


@router.get("/settings/agent-schema", dependencies=[Depends(require_user)])
async def get_agent_schema() -> SettingsSchema:
    """Returns a description of the agent settings, from which a client builds a form."""
    return agent_schema()


@router.get("/settings/conversation-schema", dependencies=[Depends(require_user)])
async def get_conversation_schema() -> SettingsSchema:
    """Returns a description of the conversation settings, from which a client builds a form."""
    return conversation_schema()


@router.get("/settings")
async def get_settings(user: CurrentUser, session: ReadSession, request: Request) -> SettingsInfo:
    """Returns all settings of the user in the form of the OpenHands API. API keys and tokens are never
    returned.
    """
    return await _settings_store(request, session, user).read()


@router.post(
    "/settings",
    responses={
        400: {"description": "No model is chosen"},
        403: {"description": "The user may not change this setting"},
        404: {"description": "There is no such sandbox spec"},
        409: {"description": "The stored key was given for another address"},
    },
)
async def save_settings(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    body: SaveSettings,
    request: Request,
) -> Saved:
    """Changes the settings that are in the request body; the other settings stay as they are.

    A change of the model is stored in the active model profile if the user can change this profile. Otherwise
    it is stored in the user's profile `default`, which is created if it does not exist and becomes the active
    profile. A user cannot change built-in profiles and profiles of other users. 403 `permission_missing` if
    this profile is shared and the API key lacks the scope `administer`.

    Some settings of the OpenHands API have a fixed value in Slipway. The request is refused if it contains
    another value for one of them.
    """
    await _settings_store(request, session, principal.user).save(body, principal, trail)
    return Saved(message="The settings are saved.")


@router.get("/users/me", tags=["Users"])
async def get_current_user(
    user: CurrentUser, session: ReadSession, request: Request, expose_secrets: bool = False
) -> CurrentUserInfo:
    """Returns the current user and all settings of this user, without the values of secrets.

    `expose_secrets`: a parameter of the OpenHands API that requests the values of secrets. Slipway never
    shows them: 403 `secrets_not_exposed` if the parameter is true.
    """
    if expose_secrets:
        raise Forbidden("Secrets are never shown.", code="secrets_not_exposed")
    settings = await _settings_store(request, session, user).read()
    who = UserInfo.model_validate(user)
    organisation = await session.get_one(Organisation, user.organisation_id)
    return CurrentUserInfo.model_validate(
        {**settings.model_dump(), **who.model_dump(), "organisation": organisation.name}
    )


def _settings_store(request: Request, session: AsyncSession, user: User) -> SettingsStore:
    state = request.state
    kind = state.sandboxes.describe()
    mode = default_mode(is_isolated=kind.is_isolated)
    return SettingsStore(
        session,
        state.cipher,
        user,
        mode,
        permission_of(state.config, kind, administers=user.administers_installation),
    )
