"""The route that lists the skills of this server for the current user."""

import asyncio

from fastapi import APIRouter

from app_server.access.authentication import CurrentUser
from app_server.core.database import ReadSession
from app_server.core.pagination import Limit, Page, PageId, page_of
from app_server.core.server_objects import ServerConfig
from app_server.skills.catalogue import ListedSkill, listed
from app_server.skills.installed import skill_files

router = APIRouter(prefix="/api/v1/skills", tags=["Skills"])


@router.get("/search")
async def search_skills(
    user: CurrentUser,
    session: ReadSession,
    config: ServerConfig,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[ListedSkill]:
    """Lists the skills that this server gives to the user's conversations: the user's own skills, the skills
    of the organisation and the public skills. The skills are sorted by name.

    Skills in the repository of a conversation are not listed. The conversation gets these skills in addition.
    """
    files = await skill_files(session, config, user.id)
    items, next_page_id = page_of(await asyncio.to_thread(listed, files), page_id, limit)
    return Page(items=items, next_page_id=next_page_id)
