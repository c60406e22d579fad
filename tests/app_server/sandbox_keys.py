"""Session keys of sandboxes for tests that need a sandbox's key but no running sandbox."""

from dataclasses import dataclass
from uuid import uuid4

import pytest

from app_server.conversations.models import Conversation
from app_server.sandbox_records.models import SandboxStatus
from app_server.users.models import Role, User
from app_server.users.service import create_user
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App


@dataclass(frozen=True)
class Keys:
    """Request headers with a sandbox's session key, for the inner app. `own`: of a sandbox of the owner.
    `foreign`: of a sandbox of another user.
    """

    own: dict[str, str]
    foreign: dict[str, str]


@pytest.fixture
async def keys(app: App, owner: User) -> Keys:
    """Stores a running sandbox of the owner and one of another user, without machines. Returns the headers
    with their session keys.
    """
    await app.state["start_worker"].close()
    async with app.database.session() as session:
        stranger = await create_user(session, name="Somebody", role=Role.MEMBER)
        for key, user_id in (("own-key", owner.id), ("foreign-key", stranger.id)):
            conversation = Conversation(id=uuid4(), user_id=user_id, llm_profile="demo", last_seq=0)
            session.add(conversation)
            sandbox = await app.state["sandboxes"].create(
                session, sandbox_id=conversation.id, user_id=user_id
            )
            sandbox.session_key_hash, sandbox.status = token_hash(key), SandboxStatus.RUNNING
    return Keys({"X-Session-API-Key": "own-key"}, {"X-Session-API-Key": "foreign-key"})
