"""LLM profiles of the current user."""

from collections.abc import Sequence

from fastapi import APIRouter, Request

from agent_runtime.catalogue.lookup import facts_of
from app_server.database import ReadSession, Session
from app_server.settings import profiles
from app_server.settings.models import LLMProfile
from app_server.settings.schemas import (
    LLMProfileInfo,
    LLMProfiles,
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
async def get_profile(user: CurrentUser, session: ReadSession, name: ProfileNameInPath) -> LLMProfileInfo:
    return shown(await profiles.get_profile(session, user.id, name))


@router.post("/{name}", status_code=201)
async def save_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: SaveProfile, request: Request
) -> LLMProfileInfo:
    return shown(await profiles.save_profile(session, request.state.cipher, user.id, name, body.llm))


@router.delete("/{name}", status_code=204)
async def delete_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> None:
    await profiles.delete_profile(session, user.id, name)


@router.post("/{name}/activate")
async def activate_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> LLMProfileInfo:
    return shown(await profiles.activate_profile(session, user.id, name))


@router.post("/{name}/rename")
async def rename_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: RenameProfile
) -> LLMProfileInfo:
    return shown(await profiles.rename_profile(session, user.id, name, body.new_name))


@facts_router.get("")
async def get_model_facts(_user: CurrentUser, model: ModelName) -> ModelFacts:
    """What is known of any model, also of one that no profile has."""
    return shown_facts(facts_of(model))


def _listed(rows: Sequence[LLMProfile]) -> LLMProfiles:
    active = next((row.name for row in rows if row.is_active), None)
    return LLMProfiles(profiles=[shown(row) for row in rows], active_profile=active)
