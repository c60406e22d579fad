"""Sends git settings to sandboxes. The settings say which repositories git in the sandbox can reach, and how
git signs commits.
"""

import logging
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import GitRemotes
from app_server.commit_signing.service import key_for_git
from app_server.conversations.repositories.git_access import git_work_of, remotes_of
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import AppError
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes

logger = logging.getLogger(__name__)


async def git_settings_of(session: AsyncSession, cipher: Cipher, sandbox: Sandbox) -> GitRemotes:
    """Returns the current git settings for a sandbox: the remotes that git can reach, and the key that signs
    commits.
    """
    work = await git_work_of(session, cipher, sandbox)
    return remotes_of(work, await key_for_git(session, sandbox.user_id))


async def renew_git_settings(database: Database, cipher: Cipher, sandboxes: Sandboxes, user_id: UUID) -> None:
    """Sends the current git settings to all running sandboxes of the user. A sandbox that is not running gets
    its settings when it wakes.

    If a sandbox cannot be reached, the error is logged and the other sandboxes still get their settings.
    """
    running = select(Sandbox).where(Sandbox.user_id == user_id, Sandbox.status == SandboxStatus.RUNNING)
    async with database.read() as session:
        rows = (await session.scalars(running)).all()
        settings = {row.id: await git_settings_of(session, cipher, row) for row in rows}
    for sandbox_id, wanted in settings.items():
        try:
            await sandboxes.client(sandbox_id).set_git_remotes(wanted)
        except AppError as error:
            details = {"sandbox": str(sandbox_id), "cause": error.detail}
            logger.warning("a sandbox did not get the settings of git", extra=details)
