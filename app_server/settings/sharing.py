"""Shares administrators' LLM profiles with all users of their organisation, and adds the first profiles of a
new user.
"""

from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server import demo
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.access.route_access import refuse_narrowed_key
from app_server.core.errors import Conflict
from app_server.settings.models import LLMProfile, UserSettings
from app_server.settings.profile_lookup import first_shared_profile, own_profile, require_profile
from app_server.settings.profiles import DEMO_MODEL, refuse_built_in, refuse_enforced
from app_server.users.models import User


async def share_profile(session: AsyncSession, user: User, name: str) -> LLMProfile:
    """Shares a profile of the administrator `user` with all users of the organisation, and returns the
    profile. These users never see its API key. For users whose active profile is the demo profile, the shared
    profile becomes the active one.

    Raises NotFound `llm_profile_not_found` if the administrator has no profile with this name. Raises
    Conflict `llm_profile_built_in` for the demo profile. Raises Conflict `shared_profile_exists` if another
    shared profile has this name.
    """
    refuse_built_in(name)
    profile = await own_profile(session, user.id, name)
    profile.shared_in = user.organisation_id
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            f"Another model profile named {name!r} is shared already.",
            code="shared_profile_exists",
            fix="Rename this profile, or stop sharing the other one.",
        ) from error
    await give_to_people_without_model(session, profile)
    return profile


async def stop_sharing_profile(session: AsyncSession, organisation_id: UUID, name: str) -> LLMProfile:
    """Stops sharing a profile with the users of the organisation, and returns the profile. If users had this
    profile as their active profile, their own earlier active profile becomes active again.

    Raises NotFound `llm_profile_not_found` if no shared profile has this name. Raises Conflict
    `llm_profile_enforced` if the organisation or a team enforces the profile, so that its users cannot choose
    another.
    """
    query = select(LLMProfile).where(LLMProfile.shared_in == organisation_id, LLMProfile.name == name)
    profile = require_profile(await session.scalar(query), name)
    await refuse_enforced(session, profile)
    profile.shared_in = None
    in_use = update(UserSettings).where(UserSettings.shared_profile_id == profile.id)
    await session.execute(in_use.values(shared_profile_id=None))
    await session.flush()
    return profile


async def require_may_change(session: AsyncSession, principal: Principal, name: str) -> None:
    """Checks that the request may change, rename or delete the user's own profile with this name. Does
    nothing if there is no such profile. Raises Forbidden `permission_missing` if the user shares the profile
    with other users, and the scopes of the API key leave out `administer`.
    """
    query = select(LLMProfile.shared_in).where(
        LLMProfile.user_id == principal.user.id, LLMProfile.name == name
    )
    if await session.scalar(query) is not None:
        refuse_narrowed_key(principal, Permission.ADMINISTER)


async def add_first_profiles(session: AsyncSession, user_id: UUID) -> None:
    """Adds the demo profile for a new user. This profile replays stored model replies. Then makes one profile
    active: the oldest profile that administrators share with the organisation, or the demo profile if they
    share none.
    """
    session.add(LLMProfile(user_id=user_id, name=demo.PROFILE, model=DEMO_MODEL, is_active=True))
    await session.flush()
    if shared := await first_shared_profile(session, user_id):
        await give_to_people_without_model(session, shared)


async def give_to_people_without_model(session: AsyncSession, profile: LLMProfile) -> None:
    """Makes a shared profile the active one for all other users of the organisation who still use the demo
    profile. The demo profile replays stored model replies instead of calling a model.
    """
    has_model = select(LLMProfile.user_id).where(LLMProfile.is_active, LLMProfile.name != demo.PROFILE)
    has_chosen = select(UserSettings.user_id).where(UserSettings.shared_profile_id.is_not(None))
    without = select(User.id).where(
        User.id != profile.user_id,
        User.organisation_id == profile.shared_in,
        User.id.not_in(has_model),
        User.id.not_in(has_chosen),
    )
    people = await session.scalars(without)
    for user_id in people.all():
        await session.merge(UserSettings(user_id=user_id, shared_profile_id=profile.id))
    await session.flush()
