"""Adds, changes, renames, deletes and activates the LLM profiles of a user."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server import demo
from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict
from app_server.levels.models import LevelSetting, SettingName
from app_server.levels.service import is_in
from app_server.settings.checks import check
from app_server.settings.models import RECORDED_PREFIX, LLMProfile, UserSettings
from app_server.settings.profile_lookup import (
    active_profile,
    callable_profile,
    list_own_profiles,
    own_profile,
)
from app_server.settings.schemas import LLMSettings

MAX_PROFILES = 50
DEMO_MODEL = f"{RECORDED_PREFIX}fix-failing-test"


async def save_profile(
    session: AsyncSession,
    cipher: Cipher,
    user_id: UUID,
    name: str,
    llm: LLMSettings,
    *,
    address_of: LLMProfile | None = None,
) -> LLMProfile:
    """Adds or changes the user's profile with this name and returns it. A new profile becomes the active one
    if it is the user's first profile that is not a recording. A recording is a profile that plays back stored
    model replies. If the active profile is a shared one that is not a recording, it stays active.

    If `api_key` in `llm` is None, the stored key is not changed. An empty key deletes the stored key. The
    stored key and headers are never sent to another server. Therefore, if the base URL or the vendor of the
    model changes, the request must contain the key and the headers again, or delete them. If it does not,
    raises Conflict `api_key_needed` or `extra_headers_needed`.

    `address_of`: the profile from which the base URL is copied; None if the user has entered the base URL. A
    copied base URL that a person who has left had entered stays marked as such.

    Raises Conflict `llm_profile_built_in` if `name` is the name of the built-in demo profile. Raises Conflict
    `too_many_llm_profiles` if the user has the maximum number of profiles. Raises BadRequest
    `recording_not_found` if the model is a recording other than the built-in demo. Raises BadRequest
    `llm_option_refused` if the model does not support an option. Raises BadRequest `vertex_key_invalid` if
    the key of a model at Vertex AI is not valid.
    """
    refuse_built_in(name)
    if llm.model.startswith(RECORDED_PREFIX) and llm.model != DEMO_MODEL:
        raise BadRequest("There is no such recording.", code="recording_not_found")
    check(llm)
    is_inherited = address_of is not None and address_of.has_inherited_address
    profiles = await list_own_profiles(session, user_id)
    known = next((each for each in profiles if each.name == name), None)
    if known:
        _refuse_redirecting_key(known, llm)
    profile = known or _add(session, user_id, name, profiles)
    profile.model, profile.base_url = llm.model, llm.base_url
    profile.max_budget_per_task = llm.max_budget_per_task
    profile.input_cost_per_token = llm.input_cost_per_token
    profile.output_cost_per_token = llm.output_cost_per_token
    profile.options = llm.options()
    if is_inherited:
        profile.mark_inherited_address()
    if llm.extra_headers is not None:
        profile.extra_headers_encrypted = {
            header: cipher.encrypt(value.get_secret_value()) for header, value in llm.extra_headers.items()
        }
    if llm.api_key is not None:
        key = llm.api_key.get_secret_value()
        profile.api_key_encrypted = cipher.encrypt(key) if key else None
    is_first = known is None and not profile.is_recording and await _has_only_recordings(session, user_id)
    await _flush(session, name)
    if is_first:
        await _activate(session, profile)
    return profile


async def _has_only_recordings(session: AsyncSession, user_id: UUID) -> bool:
    """Returns whether the user has no profile with a real model: all of the user's own profiles are
    recordings, and the active profile, which may be a shared one, is a recording too. A recording replays
    stored model replies.
    """
    with session.no_autoflush:
        own = await list_own_profiles(session, user_id)
        active = await active_profile(session, user_id)
    return all(one.is_recording for one in (*own, *filter(None, [active])))


async def delete_profile(session: AsyncSession, user_id: UUID, name: str) -> None:
    """Deletes a profile of the user. If it was active, the newest of the user's other profiles becomes
    active. A recording (a profile that plays back stored model replies) becomes active only if no other
    profile remains.

    Raises NotFound `llm_profile_not_found` if the user has no profile with this name. Raises Conflict
    `llm_profile_built_in` for the built-in demo profile. Raises Conflict `llm_profile_enforced` if the
    organisation or a team enforces the profile for its users.
    """
    refuse_built_in(name)
    profile = await own_profile(session, user_id, name)
    await refuse_enforced(session, profile)
    was_active = profile.is_active
    await session.delete(profile)
    await session.flush()
    if was_active:
        rest = await list_own_profiles(session, user_id)
        await _activate(session, max(rest, key=lambda each: (not each.is_recording, each.created_at)))


async def activate_profile(session: AsyncSession, user_id: UUID, name: str) -> LLMProfile:
    """Makes the profile with this name the user's active profile, and returns it. It may be the user's own
    profile or a shared one.

    Raises NotFound `llm_profile_not_found` if there is no such profile. Raises Forbidden `setting_enforced`
    if the organisation or a team enforces another profile for its users.
    """
    profile = await callable_profile(session, user_id, name)
    is_own = profile.user_id == user_id
    if is_own:
        await _activate(session, profile)
    await session.merge(UserSettings(user_id=user_id, shared_profile_id=None if is_own else profile.id))
    await session.flush()
    return profile


async def rename_profile(session: AsyncSession, user_id: UUID, name: str, new_name: str) -> LLMProfile:
    """Renames a profile of the user and returns it.

    Raises NotFound `llm_profile_not_found` if the user has no profile called `name`. Raises Conflict
    `llm_profile_exists` if another profile of the user has the new name. Raises Conflict
    `llm_profile_built_in` if one of the two names is the name of the built-in demo profile. Raises Conflict
    `llm_profile_enforced` if the organisation or a team enforces the profile for its users.
    """
    refuse_built_in(name)
    refuse_built_in(new_name)
    profile = await own_profile(session, user_id, name)
    await refuse_enforced(session, profile)
    profile.name = new_name
    await _flush(session, new_name)
    return profile


def _add(session: AsyncSession, user_id: UUID, name: str, profiles: Sequence[LLMProfile]) -> LLMProfile:
    if len(profiles) >= MAX_PROFILES:
        raise Conflict(
            f"You have {MAX_PROFILES} model profiles, which is the limit.",
            code="too_many_llm_profiles",
            fix="Delete one that is no longer used.",
        )
    profile = LLMProfile(user_id=user_id, name=name, is_active=False)
    session.add(profile)
    return profile


def _refuse_redirecting_key(known: LLMProfile, llm: LLMSettings) -> None:
    # Otherwise a user who may edit a profile, but not read its key, could send the key to another server.
    stays = (known.base_url, _vendor(known.model)) == (llm.base_url, _vendor(llm.model))
    keeps_key = llm.api_key is None and known.api_key_encrypted is not None
    keeps_headers = llm.extra_headers is None and bool(known.extra_headers_encrypted)
    if keeps_headers and not stays:
        raise Conflict(
            "The stored extra headers were given for another address and are not sent to a new one.",
            code="extra_headers_needed",
            fix="Enter the extra headers again, or clear them.",
        )
    if keeps_key and not stays:
        raise Conflict(
            "The stored key was given for another address and is not sent to a new one.",
            code="api_key_needed",
            fix="Enter the key again.",
        )


def _vendor(model: str) -> str:
    return model.partition("/")[0]


async def _activate(session: AsyncSession, profile: LLMProfile) -> None:
    if profile.is_active:
        return
    # Two statements, because the database allows only one active profile at any moment.
    others = update(LLMProfile).where(LLMProfile.user_id == profile.user_id, LLMProfile.is_active)
    await session.execute(others.values(is_active=False))
    profile.is_active = True
    await session.flush()


async def _flush(session: AsyncSession, name: str) -> None:
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            f"There is a model profile named {name!r} already.",
            code="llm_profile_exists",
            fix="Choose another name.",
        ) from error


async def refuse_enforced(session: AsyncSession, profile: LLMProfile) -> None:
    """Raises Conflict `llm_profile_enforced` if the organisation or a team enforces this shared profile, so
    that its users cannot choose another. Such a profile must not be deleted, renamed or unshared: its users
    may call no other model, so they could then call no model at all.
    """
    is_model = LevelSetting.name == SettingName.LLM_PROFILE
    if profile.shared_in is None:
        return
    named = await session.scalars(select(LevelSetting.value).where(is_model, is_in(profile.shared_in)))
    if profile.name in named.all():
        raise Conflict(
            f"The organisation or a team has set {profile.name!r} as the model to use.",
            code="llm_profile_enforced",
            fix="Delete this setting on the organisation's page first.",
        )


def refuse_built_in(name: str) -> None:
    """Raises Conflict `llm_profile_built_in` if `name` is the name of the built-in demo profile. This LLM
    profile belongs to every user, replays stored model replies and cannot be changed or replaced.
    """
    if name == demo.PROFILE:
        raise Conflict(
            f"The profile {name!r} is built in and stays as it is.",
            code="llm_profile_built_in",
            fix="Choose another name.",
        )
