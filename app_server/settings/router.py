"""LLM profiles of the current user."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from pydantic import SecretStr

from agent_runtime.catalogue.lookup import facts_of
from app_server.database import ReadSession, Session
from app_server.settings import profiles
from app_server.settings.models import LLMProfile
from app_server.settings.schemas import (
    ChangedProfile,
    DeletedProfile,
    LLMProfileDetails,
    LLMProfiles,
    LLMSettings,
    ModelFacts,
    ModelName,
    ProfileNameInPath,
    RenameProfile,
    SaveProfile,
)
from app_server.settings.shown import shown, shown_facts
from app_server.users.auth import CurrentUser

router = APIRouter(prefix="/api/v1/settings/profiles", tags=["Settings"])
facts_router = APIRouter(prefix="/api/v1/settings/model-facts", tags=["Settings"])


@router.get("")
async def list_profiles(user: CurrentUser, session: ReadSession) -> LLMProfiles:
    return _listed(await profiles.list_profiles(session, user.id))


@router.get("/{name}")
async def get_profile(user: CurrentUser, session: ReadSession, name: ProfileNameInPath) -> LLMProfileDetails:
    info = shown(await profiles.get_profile(session, user.id, name))
    config = info.model_dump(include=set(LLMSettings.model_fields)) | {"api_key": None}
    return LLMProfileDetails(**info.model_dump(), config=config)


@router.post("/{name}", status_code=201)
async def save_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: SaveProfile, request: Request
) -> ChangedProfile:
    """Makes it, or replaces one of this name."""
    cipher = request.state.cipher
    llm = body.llm or await profiles.settings_in_use(session, cipher, user.id)
    if not body.include_secrets:
        without: dict[str, object] = {"api_key": None, "extra_headers": None}
        if not body.preserve_existing_api_key:
            without = {"api_key": SecretStr(""), "extra_headers": {}}
        llm = llm.model_copy(update=without)
    row = await profiles.save_profile(session, cipher, user.id, name, llm)
    return _changed(row, "saved")


@router.delete("/{name}")
async def delete_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> DeletedProfile:
    await profiles.delete_profile(session, user.id, name)
    return DeletedProfile(name=name, message=f"The profile {name} is deleted.")


@router.post("/{name}/activate")
async def activate_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> ChangedProfile:
    return _changed(await profiles.activate_profile(session, user.id, name), "in use")


@router.post("/{name}/rename")
async def rename_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: RenameProfile
) -> ChangedProfile:
    return _changed(await profiles.rename_profile(session, user.id, name, body.new_name), "renamed")


@facts_router.get("")
async def get_model_facts(_user: CurrentUser, model: ModelName) -> ModelFacts:
    """What is known of any model, also of one that no profile has."""
    return shown_facts(facts_of(model))


def _changed(row: LLMProfile, became: str) -> ChangedProfile:
    return ChangedProfile(**shown(row).model_dump(), message=f"The profile {row.name} is {became}.")


def _listed(rows: Sequence[LLMProfile]) -> LLMProfiles:
    active = next((row.name for row in rows if row.is_active), None)
    return LLMProfiles(profiles=[shown(row) for row in rows], active_profile=active)
