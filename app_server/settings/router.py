"""LLM profiles of the current user."""

from collections.abc import Sequence

from fastapi import APIRouter, Request

from app_server.database import ReadSession, Session
from app_server.settings import profiles
from app_server.settings.models import LLMProfile
from app_server.settings.schemas import (
    LLMProfileInfo,
    LLMProfiles,
    ProfileNameInPath,
    RenameProfile,
    SaveProfile,
)
from app_server.users.auth import CurrentUser

router = APIRouter(prefix="/api/v1/settings/profiles", tags=["Settings"])


@router.get("")
async def list_profiles(user: CurrentUser, session: ReadSession) -> LLMProfiles:
    return _listed(await profiles.list_profiles(session, user.id))


@router.get("/{name}", response_model=LLMProfileInfo)
async def get_profile(user: CurrentUser, session: ReadSession, name: ProfileNameInPath) -> LLMProfile:
    return await profiles.get_profile(session, user.id, name)


@router.post("/{name}", status_code=201, response_model=LLMProfileInfo)
async def save_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: SaveProfile, request: Request
) -> LLMProfile:
    return await profiles.save_profile(session, request.state.cipher, user.id, name, body.llm)


@router.delete("/{name}", status_code=204)
async def delete_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> None:
    await profiles.delete_profile(session, user.id, name)


@router.post("/{name}/activate", response_model=LLMProfileInfo)
async def activate_profile(user: CurrentUser, session: Session, name: ProfileNameInPath) -> LLMProfile:
    return await profiles.activate_profile(session, user.id, name)


@router.post("/{name}/rename", response_model=LLMProfileInfo)
async def rename_profile(
    user: CurrentUser, session: Session, name: ProfileNameInPath, body: RenameProfile
) -> LLMProfile:
    return await profiles.rename_profile(session, user.id, name, body.new_name)


def _listed(rows: Sequence[LLMProfile]) -> LLMProfiles:
    active = next((row.name for row in rows if row.is_active), None)
    return LLMProfiles(profiles=[LLMProfileInfo.model_validate(row) for row in rows], active_profile=active)
