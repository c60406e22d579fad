"""Finds the fallbacks of a model profile. Fallbacks are other profiles whose models are called if the
profile's model is not available.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.settings.models import LLMProfile
from app_server.settings.profile_lookup import callable_names, list_profiles


async def fallbacks_of(session: AsyncSession, user_id: UUID, profile: LLMProfile) -> Sequence[LLMProfile]:
    """Returns the fallbacks of `profile`: the LLM profiles whose models are called, in this order, if the
    model of `profile` fails.

    `profile` lists its fallbacks by name. Names are left out if the user has no such profile, if agents may
    not call its model, or if the name is that of `profile` itself. Profiles that replay stored model replies
    are left out too.
    """
    if not profile.chosen.fallbacks:
        return []
    usable = {one.name: one for one in await list_profiles(session, user_id)}
    allowed = set(await callable_names(session, user_id, list(usable.values())))
    return [
        usable[name]
        for name in dict.fromkeys(profile.chosen.fallbacks)
        if name in allowed and name != profile.name and not usable[name].is_recording
    ]
