"""Finds the LLM profiles that a user may use. These are the user's own profiles, and the profiles that
administrators share with all users of the organisation. One of them is the active profile.

If a user's own profile and a shared profile have the same name, the user's own profile is used. The
organisation or a team can enforce a profile, so that users cannot choose another. Then this profile is the
active one, and agents may call no other profile except recordings (profiles that play back stored replies).
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import String, Uuid, and_, bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest, Conflict, NotFound
from app_server.levels.models import SettingName
from app_server.levels.service import enforced_for, setting_enforced
from app_server.settings.models import LLMProfile, UserSettings
from app_server.settings.schemas import LLMSettings
from app_server.users.models import ADMINISTRATORS, User

_COLUMNS = ("model", "base_url", "max_budget_per_task", "input_cost_per_token", "output_cost_per_token")
# The queries are built once, because every call of a model begins with one of them.
_USER = bindparam("user", type_=Uuid())
_IS_OWN = LLMProfile.user_id == _USER
_READER = aliased(User)
_IS_SHARED = and_(
    LLMProfile.shared_in == select(_READER.organisation_id).where(_READER.id == _USER).scalar_subquery(),
    LLMProfile.user_id.in_(
        select(User.id).where(User.role.in_(ADMINISTRATORS), User.organisation_id == LLMProfile.shared_in)
    ),
)
_IS_NAMED = LLMProfile.name == bindparam("name", type_=String())
_CHOSEN = select(UserSettings.shared_profile_id).where(UserSettings.user_id == _USER)
_OWN = select(LLMProfile).where(_IS_OWN).order_by(LLMProfile.name)
_OWN_NAMED = _OWN.where(_IS_NAMED)
_SHARED = select(LLMProfile).where(_IS_SHARED).order_by(LLMProfile.created_at, LLMProfile.id)
_SHARED_NAMED = _SHARED.where(_IS_NAMED)
# False sorts before true. So a chosen shared profile comes before the user's own active profile, and a
# profile of the user comes before a shared one with the same name.
_NAMED = (
    select(LLMProfile)
    .where(or_(_IS_OWN, _IS_SHARED), _IS_NAMED)
    .order_by(LLMProfile.user_id != _USER)
    .limit(1)
)
_ACTIVE = (
    select(LLMProfile)
    .where(or_(and_(_IS_OWN, LLMProfile.is_active), and_(_IS_SHARED, LLMProfile.id.in_(_CHOSEN))))
    .order_by(_IS_OWN)
    .limit(1)
)


async def list_profiles(session: AsyncSession, user_id: UUID) -> Sequence[LLMProfile]:
    """Returns the user's own profiles and the profiles that are shared with the user, sorted by name. Leaves
    out a shared profile if an own profile has the same name.
    """
    own = await list_own_profiles(session, user_id)
    names = {one.name for one in own}
    shared = [one for one in await session.scalars(_SHARED, {"user": user_id}) if one.name not in names]
    return sorted([*own, *shared], key=lambda one: one.name)


async def list_own_profiles(session: AsyncSession, user_id: UUID) -> Sequence[LLMProfile]:
    return (await session.scalars(_OWN, {"user": user_id})).all()


async def get_profile(session: AsyncSession, user_id: UUID, name: str | None) -> LLMProfile:
    """Returns the profile with this name that the user may use: the user's own profile, or else a shared
    profile.

    `name`: None means the active profile. Raises NotFound `llm_profile_not_found` if there is no such
    profile.
    """
    if name is None:
        return require_profile(await active_profile(session, user_id), name)
    return require_profile(await session.scalar(_NAMED, {"user": user_id, "name": name}), name)


async def active_profile(session: AsyncSession, user_id: UUID) -> LLMProfile | None:
    """Returns the user's active profile. This is the profile that the organisation or a team enforces (so
    that users cannot choose another). If none is enforced, it is the profile that the user has made active.

    Returns None if there is no active profile, or if the enforced profile is no longer shared.
    """
    enforced = await enforced_for(session, user_id, SettingName.LLM_PROFILE)
    if enforced is not None:
        return await session.scalar(_SHARED_NAMED, {"user": user_id, "name": enforced.value})
    return await session.scalar(_ACTIVE, {"user": user_id})


async def shared_profile(session: AsyncSession, user_id: UUID, name: str) -> LLMProfile:
    """Returns the profile with this name that an administrator shares with all users of the user's
    organisation. Raises NotFound `llm_profile_not_found` if there is none.
    """
    return require_profile(await session.scalar(_SHARED_NAMED, {"user": user_id, "name": name}), name)


async def callable_profile(session: AsyncSession, user_id: UUID, name: str | None) -> LLMProfile:
    """Returns the profile with this name, if the user's agents may call its model. `name`: None means the
    active profile.

    If the organisation or a team enforces a profile (so that users cannot choose another), agents may call
    only this profile and recordings (profiles that play back stored replies). For any other profile, raises
    Forbidden `setting_enforced`. Raises NotFound `llm_profile_not_found` if there is no such profile.
    """
    enforced = await enforced_for(session, user_id, SettingName.LLM_PROFILE)
    if enforced is None:
        return await get_profile(session, user_id, name)
    if name in {None, enforced.value}:
        return await shared_profile(session, user_id, enforced.value)
    profile = await get_profile(session, user_id, name)
    if not profile.is_recording:
        raise setting_enforced(SettingName.LLM_PROFILE, enforced)
    return profile


async def callable_names(session: AsyncSession, user_id: UUID, profiles: Sequence[LLMProfile]) -> list[str]:
    """Returns the names of the profiles in `profiles` whose models the user's agents may call. If the
    organisation or a team enforces a profile (so that users cannot choose another), only this profile and
    recordings (profiles that play back stored replies) may be called.
    """
    enforced = await enforced_for(session, user_id, SettingName.LLM_PROFILE)
    return [
        one.name for one in profiles if enforced is None or one.is_recording or one.name == enforced.value
    ]


async def own_profile(session: AsyncSession, user_id: UUID, name: str) -> LLMProfile:
    """Returns the user's own profile with this name. Raises NotFound `llm_profile_not_found` if the user has
    none, even if another user shares a profile with this name.
    """
    return require_profile(await session.scalar(_OWN_NAMED, {"user": user_id, "name": name}), name)


async def first_shared_profile(session: AsyncSession, user_id: UUID) -> LLMProfile | None:
    """Returns the oldest profile that administrators share with the user's organisation. Returns None if
    there is none.
    """
    return await session.scalar(_SHARED.limit(1), {"user": user_id})


async def choose_profile(
    session: AsyncSession, user_id: UUID, *, name: str | None, model: str | None
) -> LLMProfile:
    """Returns the profile that a request asks for by name or by model. With a name, returns the profile with
    this name. With a model only, returns a profile with this model; the active profile is preferred. Without
    a name and a model, returns the active profile.

    Raises NotFound `llm_profile_not_found` if there is no such profile. Raises NotFound `llm_model_not_found`
    if no profile has this model. Raises BadRequest `llm_model_differs` if the profile called `name` does not
    have the model `model`.

    If the organisation or a team enforces a profile (so that users cannot choose another), the result is this
    profile or a recording (a profile that plays back stored replies). For any other profile, raises Forbidden
    `setting_enforced`.
    """
    if model is None:
        return await callable_profile(session, user_id, name)
    named = await _profile_with_model(session, user_id, model) if name is None else None
    profile = await callable_profile(session, user_id, named.name if named else name)
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
    active = await get_profile(session, user_id, None)
    return active if active in with_model else with_model[0]


async def settings_in_use(session: AsyncSession, cipher: Cipher, user_id: UUID) -> LLMSettings:
    """Returns the settings of the user's active profile, with the decrypted API key and headers, so that they
    can be copied to another profile.

    Raises Conflict `llm_profile_shared` if the active profile belongs to another user. It must not be copied,
    because the copy would contain that user's key. Raises NotFound `llm_profile_not_found` if there is no
    active profile.
    """
    profile = await get_profile(session, user_id, None)
    if profile.user_id != user_id:
        raise Conflict(
            f"The model profile {profile.name!r} is another person's and cannot be copied.",
            code="llm_profile_shared",
            fix="Send the model's settings, or choose a profile of your own.",
        )
    key, headers = profile.api_key_encrypted, profile.extra_headers_encrypted or {}
    return LLMSettings.model_validate(
        {
            **profile.chosen.model_dump(),
            **{name: getattr(profile, name) for name in _COLUMNS},
            "api_key": cipher.decrypt(key) if key else "",
            "extra_headers": {header: cipher.decrypt(value) for header, value in headers.items()},
        }
    )


def require_profile(profile: LLMProfile | None, name: str | None) -> LLMProfile:
    """Returns `profile`, or raises NotFound `llm_profile_not_found` if it is None.

    `name`: the name of the profile for the error text; None means the active profile.
    """
    if profile is None:
        raise NotFound(
            "No model is chosen." if name is None else f"There is no model profile named {name!r}.",
            code="llm_profile_not_found",
            fix="Add or choose a model in the settings.",
        )
    return profile
