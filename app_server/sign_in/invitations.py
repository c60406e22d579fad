"""New accounts, and the one-time links by which their people sign in."""

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.people_schemas import SignInLinkInfo
from app_server.core.config import Config
from app_server.core.database import now
from app_server.settings.sharing import add_first_profiles
from app_server.sign_in.service import LINK_LIFETIME, create_link
from app_server.users.models import Role, User
from app_server.users.service import create_user, find_owner


async def create_account(session: AsyncSession, *, name: str, role: Role) -> User:
    """An account with what every new one has."""
    person = await create_user(session, name=name, role=role)
    await add_first_profiles(session, person.id)
    return person


async def new_link(session: AsyncSession, config: Config, person: User) -> SignInLinkInfo:
    """The token stands in the fragment of the URL, which no log and no proxy sees."""
    token = await create_link(session, person.id)
    return SignInLinkInfo(url=f"{config.base_url}/sign-in#token={token}", expires_at=now() + LINK_LIFETIME)


async def new_owner_link(session: AsyncSession, config: Config) -> str:
    owner = await find_owner(session)
    assert owner is not None, "the first start makes the owner"
    return (await new_link(session, config, owner)).url
