"""LLM profiles: a user's named model configurations, one of them active."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import String, Uuid, bindparam, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server import demo
from app_server.encryption import Cipher
from app_server.errors import BadRequest, Conflict, NotFound
from app_server.settings.checks import check
from app_server.settings.models import RECORDED_PREFIX, LLMProfile
from app_server.settings.schemas import LLMSettings

MAX_PROFILES = 50

# Built once: every call of a model begins with one of them.
_OF_USER = select(LLMProfile).where(LLMProfile.user_id == bindparam("user", type_=Uuid()))
_NAMED = _OF_USER.where(LLMProfile.name == bindparam("name", type_=String()))
_ACTIVE = _OF_USER.where(LLMProfile.is_active)
_COLUMNS = ("model", "base_url", "max_budget_per_task", "input_cost_per_token", "output_cost_per_token")
DEMO_MODEL = f"{RECORDED_PREFIX}fix-failing-test"


async def list_profiles(session: AsyncSession, user_id: UUID) -> Sequence[LLMProfile]:
    query = select(LLMProfile).where(LLMProfile.user_id == user_id).order_by(LLMProfile.name)
    return (await session.scalars(query)).all()


async def get_profile(session: AsyncSession, user_id: UUID, name: str | None) -> LLMProfile:
    """The profile of that name; None: the active one. Raises NotFound `llm_profile_not_found`."""
    query, values = (_ACTIVE, {}) if name is None else (_NAMED, {"name": name})
    profile = await session.scalar(query, {"user": user_id, **values})
    if profile is None:
        raise NotFound(
            "No model is chosen." if name is None else f"There is no model profile named {name!r}.",
            code="llm_profile_not_found",
            fix="Add or choose a model in the settings.",
        )
    return profile


async def settings_in_use(session: AsyncSession, cipher: Cipher, user_id: UUID) -> LLMSettings:
    """Those of the active profile, with its key and headers."""
    profile = await get_profile(session, user_id, None)
    key, headers = profile.api_key_encrypted, profile.extra_headers_encrypted or {}
    return LLMSettings.model_validate(
        {
            **profile.chosen.model_dump(),
            **{name: getattr(profile, name) for name in _COLUMNS},
            "api_key": cipher.decrypt(key) if key else "",
            "extra_headers": {header: cipher.decrypt(value) for header, value in headers.items()},
        }
    )


async def choose_profile(
    session: AsyncSession, user_id: UUID, *, name: str | None, model: str | None
) -> LLMProfile:
    """The profile of that name, or else one with that model (the active one first), or else the active one.

    Raises NotFound `llm_profile_not_found` and `llm_model_not_found`, BadRequest `llm_model_differs`.
    """
    if model is None:
        return await get_profile(session, user_id, name)
    if name is None:
        return await _profile_with_model(session, user_id, model)
    profile = await get_profile(session, user_id, name)
    if profile.model != model:
        raise BadRequest(
            f"The profile {profile.name!r} has the model {profile.model!r}.",
            code="llm_model_differs",
            fix="Send llm_profile or llm_model, not both.",
        )
    return profile


async def _profile_with_model(session: AsyncSession, user_id: UUID, model: str) -> LLMProfile:
    with_model = [one for one in await list_profiles(session, user_id) if one.model == model]
    if not with_model:
        raise NotFound(
            f"No saved model profile has the model {model!r}.",
            code="llm_model_not_found",
            fix="Add it in the settings, or name a profile with llm_profile.",
        )
    return next((one for one in with_model if one.is_active), with_model[0])


async def add_demo_profile(session: AsyncSession, user_id: UUID) -> None:
    """What every new user starts with: a recorded model, active until a real one is added."""
    session.add(LLMProfile(user_id=user_id, name=demo.PROFILE, model=DEMO_MODEL, is_active=True))
    await session.flush()


async def save_profile(
    session: AsyncSession, cipher: Cipher, user_id: UUID, name: str, llm: LLMSettings
) -> LLMProfile:
    """The profile of that name, made or changed. The first real model becomes the active one.

    An `api_key` that is left out keeps the stored one; an empty one clears it. Raises Conflict
    `api_key_needed` when the stored key would go to another address than the one it was given for, and
    `extra_headers_needed` in the same case; BadRequest `llm_option_refused`.
    """
    _refuse_built_in(name)
    if llm.model.startswith(RECORDED_PREFIX) and llm.model != DEMO_MODEL:
        raise BadRequest("There is no such recording.", code="recording_not_found")
    check(llm)
    profiles = await list_profiles(session, user_id)
    known = next((each for each in profiles if each.name == name), None)
    if known:
        _refuse_redirecting_key(known, llm)
    profile = known or _add(session, user_id, name, profiles)
    profile.model, profile.base_url = llm.model, llm.base_url
    profile.max_budget_per_task = llm.max_budget_per_task
    profile.input_cost_per_token = llm.input_cost_per_token
    profile.output_cost_per_token = llm.output_cost_per_token
    profile.options = llm.options()
    if llm.extra_headers is not None:
        profile.extra_headers_encrypted = {
            header: cipher.encrypt(value.get_secret_value()) for header, value in llm.extra_headers.items()
        }
    if llm.api_key is not None:
        key = llm.api_key.get_secret_value()
        profile.api_key_encrypted = cipher.encrypt(key) if key else None
    await _flush(session, name)
    if known is None and all(each.is_recording for each in profiles) and not profile.is_recording:
        await _activate(session, profile)
    return profile


async def delete_profile(session: AsyncSession, user_id: UUID, name: str) -> None:
    """Deletes it; if it was the active one, the newest of the others takes its place."""
    _refuse_built_in(name)
    profile = await get_profile(session, user_id, name)
    was_active = profile.is_active
    await session.delete(profile)
    await session.flush()
    if was_active:
        rest = await list_profiles(session, user_id)
        await _activate(session, max(rest, key=lambda each: (not each.is_recording, each.created_at)))


async def activate_profile(session: AsyncSession, user_id: UUID, name: str) -> LLMProfile:
    profile = await get_profile(session, user_id, name)
    await _activate(session, profile)
    return profile


async def rename_profile(session: AsyncSession, user_id: UUID, name: str, new_name: str) -> LLMProfile:
    """Raises Conflict `llm_profile_exists` when the new name is taken."""
    _refuse_built_in(name)
    _refuse_built_in(new_name)
    profile = await get_profile(session, user_id, name)
    profile.name = new_name
    await _flush(session, new_name)
    return profile


def _add(session: AsyncSession, user_id: UUID, name: str, profiles: Sequence[LLMProfile]) -> LLMProfile:
    if len(profiles) >= MAX_PROFILES:
        raise Conflict(
            f"You have {MAX_PROFILES} model profiles, which is as many as there can be.",
            code="too_many_llm_profiles",
            fix="Delete one that is no longer used.",
        )
    profile = LLMProfile(user_id=user_id, name=name, is_active=False)
    session.add(profile)
    return profile


def _refuse_redirecting_key(known: LLMProfile, llm: LLMSettings) -> None:
    # Else whoever may edit a profile, but not read its key, could have the key sent to a server of theirs.
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
    # In two statements: the database allows one active profile at any moment.
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


def _refuse_built_in(name: str) -> None:
    if name == demo.PROFILE:
        raise Conflict(
            f"The profile {name!r} is built in and stays as it is.",
            code="llm_profile_built_in",
            fix="Choose another name.",
        )
