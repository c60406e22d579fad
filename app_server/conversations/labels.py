"""Changes those properties of a conversation that the agent does not use: title, repository, tags, whether
the conversation is archived, and whether others may view it.
"""

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail
from app_server.conversations import service
from app_server.conversations.egress_notices import identity_of
from app_server.conversations.models import Conversation
from app_server.conversations.schemas import MAX_TAGS, AppConversation, UpdateConversation
from app_server.conversations.sharing.owning_team import hide_from_other_team
from app_server.conversations.sharing.service import make_public
from app_server.conversations.start.request import checked
from app_server.conversations.view import Viewer
from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.git.address import InvalidRepository, parse_address
from app_server.teams.repositories.ownership import require_member
from app_server.users.models import User

_REPOSITORY = frozenset(("selected_repository", "selected_branch", "git_provider"))


async def change(
    session: AsyncSession,
    viewer: Viewer,
    user: User,
    trail: AuditTrail,
    home: Path,
    conversation_id: UUID,
    update: UpdateConversation,
    added_tags: Mapping[str, str] | None = None,
) -> AppConversation:
    """Applies the update to the conversation and returns the conversation.

    `home`: the data directory of the server. `added_tags`: tags that are added to the conversation's current
    tags; if the conversation already has a tag with the same key, the tag gets the new value.

    Raises NotFound if the user may not see the conversation. Raises Forbidden `conversation_access_missing`
    if the user is not its owner. Raises InvalidRepository if the address of the new repository is not valid.
    Raises Forbidden `repository_not_allowed` if only administrators may use the new repository. Raises
    Forbidden `repository_of_team` if a team allows the new repository only to its members. Raises Conflict
    `too_many_tags` if the conversation would have too many tags.
    """
    conversation = await service.require(session, user.id, conversation_id)
    if added_tags:
        # Two requests may add tags at once. The second one waits here and reads what the first one stored.
        await session.refresh(conversation, with_for_update=True)
        update = update.model_copy(update={"tags": _with_tags(conversation, added_tags)})
    if update.title is not None:
        conversation.title = conversation.unsent_title = update.title
    if update.tags is not None:
        conversation.tags = dict(update.tags)
    if update.archived is not None:
        conversation.archived_at = (conversation.archived_at or now()) if update.archived else None
        await session.flush()
    if named := update.model_fields_set & _REPOSITORY:
        await _name_repository(
            session, user, home, conversation, {name: getattr(update, name) for name in named}
        )
    if update.title is not None or update.tags is not None or named:
        conversation.updated_at = now()
        await session.flush()
    if update.public is not None:
        await make_public(session, user.id, trail, conversation_id, update.public)
    shown = await viewer.find(session, conversation_id, user_id=user.id)
    assert shown is not None
    return shown


def _with_tags(conversation: Conversation, added: Mapping[str, str]) -> dict[str, str]:
    tags = {**conversation.tags, **added}
    if len(tags) > MAX_TAGS:
        raise Conflict(
            f"The conversation would have more than {MAX_TAGS} tags.",
            code="too_many_tags",
            fix="Remove a tag of the conversation first.",
        )
    return tags


async def _name_repository(
    session: AsyncSession, user: User, home: Path, conversation: Conversation, named: dict[str, str | None]
) -> None:
    began_with = identity_of(conversation)
    for name, value in named.items():
        setattr(conversation, name, value)
    repository, provider = conversation.selected_repository, conversation.git_provider
    if repository is not None:
        address = parse_address(repository, provider)
        if address.has_credentials:
            raise InvalidRepository(
                "The address contains a password.",
                code="repository_has_password",
                fix="Save the token for its host, and give the address without it.",
            )
        await checked(address, user, home)
        [owner] = await require_member(session, user.id, [address.identity])
        await hide_from_other_team(session, user, conversation, owner)
    if conversation.first_repository is None:
        conversation.first_repository = began_with or ""
