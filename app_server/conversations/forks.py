"""Forks a conversation: makes an independent copy with its files, in a separate sandbox.

A fork is started like a new conversation, but its event log is written first, before it has a sandbox. Then
the start worker, a background task of the app server, creates the sandbox from a copy of the files. It sends
the event log to the agent server in this sandbox. The fork gets new keys and new addresses, and uses no key
and no address of the original conversation.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.time_limits import time_limit
from app_server.conversations import service
from app_server.conversations.log.bulk_append import fill, hide, removed_after_failure, revealed
from app_server.conversations.log.copying import copied_frames, positions_to_copy
from app_server.conversations.models import Conversation, StartTask
from app_server.conversations.schemas import StartRequest
from app_server.conversations.snapshots import not_started, require_files, snapshot_of
from app_server.conversations.start.secrets import decrypt_secrets
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher
from app_server.core.errors import BadGateway, Conflict, Unavailable
from app_server.events import log
from app_server.sandbox_records.models import Archive, ArchiveKind
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.permission import SpecPermission
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import User

_REPORT_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_CARRIED_OVER = (
    "system_message_suffix",
    "confirmation_mode",
    "max_budget_per_task",
    "pr_number",
    "agent_type",
)


class ForkConversation(BaseModel):
    """The request body for forking a conversation, that is, for making an independent copy of it.

    title: the title of the fork; if null, the fork gets the title of the original. from_event_id: the last
    event that the fork contains; if null, this is the newest event of the original. Events that the user has
    undone by going back to an earlier point are not copied. The fork always gets the current files, even if
    from_event_id is an old event.
    """

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    from_event_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None


@dataclass(frozen=True)
class Forks:
    """The service that forks conversations: it makes independent copies of them. `specs`: which sandbox specs
    (descriptions of the base image of a sandbox) the user may choose.
    """

    config: Config
    database: Database
    cipher: Cipher
    sandboxes: Sandboxes
    specs: SpecPermission

    async def fork(self, user: User, original: Conversation, wanted: ForkConversation) -> StartTask:
        """Creates the fork (an independent copy of the conversation) and returns the fork's start task (the
        record of its start). The start worker, a background task of the app server, then starts the fork.

        The fork is hidden until its event log is complete. If the app server is killed before that, the fork
        is removed.

        Raises Conflict if the conversation has not started, or if its files cannot be copied at this time.
        Raises NotFound `event_not_found` if the last event to copy does not exist. Raises TooManyRequests
        `quota_reached` if a quota of the user is used up. Raises Unavailable `log_behind` if the newest
        events do not arrive in time. Raises Unavailable `copy_cut_off` if copying the events takes too long.
        Raises also the errors of the function `service.start`, which creates the rows of the fork.
        """
        async with self.database.read() as session:
            task = await session.get_one(StartTask, original.id)
            await require_files(session, original)
            if original.last_seq == 0:
                raise not_started()
        last = await self._last_seq(original)
        async with self.database.read() as session:
            positions = await positions_to_copy(
                session, original.id, through_seq=last, from_event_id=wanted.from_event_id
            )
        archive = await snapshot_of(self.database, self.sandboxes, original, None)
        fork = await self._begin(user, original, self._request(original, task, wanted, archive.id), archive)
        async with removed_after_failure(self.database, fork.id):
            async for frames in copied_frames(self.database, original.id, positions):
                await fill(self.database, fork.id, frames)
            await self._complete(original, fork.id, wanted.title)
        return fork

    async def _begin(
        self, user: User, original: Conversation, request: StartRequest, archive: Archive
    ) -> StartTask:
        """Creates the database rows of the fork (the copy of a conversation) and returns the fork's start
        task (the record of its start). The fork is hidden and has no events at first.

        `archive`: a snapshot of the original's files, which was made for this fork. It becomes the archive
        from which the fork's sandbox gets its files. If an error occurs, the function deletes it.
        """
        new_id: UUID | None = None
        try:
            async with self.database.session() as session:
                fork = await service.start(
                    session,
                    self.config,
                    self.cipher,
                    user,
                    request,
                    sandboxes=self.sandboxes,
                    specs=self.specs,
                )
                new_id = fork.id
                await self._give_files(session, fork, archive)
                row = await session.get_one(Conversation, fork.id)
                row.forked_from_conversation_id = original.id
                hide(row)
        except BaseException:
            if new_id is not None:
                await self.sandboxes.archives.unshare(archive.id, new_id)
            await self.sandboxes.archives.remove(archive)
            raise
        await self.sandboxes.archives.unshare(archive.id, archive.sandbox_id)
        return fork

    async def _complete(self, original: Conversation, fork_id: UUID, title: str | None) -> None:
        async with self.database.session() as session:
            fork = await revealed(session, fork_id)
            fork.title = title or original.title or fork.title
            fork.unsent_title = None
            fork.tags = original.tags
            fork.base_commit, fork.more_repositories = original.base_commit, original.more_repositories
            fork.first_repository = original.first_repository
            fork.submodules = original.submodules

    async def _last_seq(self, original: Conversation) -> int:
        """Returns the sequence number of the newest event in the original conversation's log on the app
        server. If the agent server runs, first waits until its newest event has arrived in this log. So the
        fork also contains events of the last moments, such as an approval by the user.

        Raises Unavailable `log_behind` if the events do not arrive in time.
        """
        try:
            reached = await self.sandboxes.client(original.sandbox_id).log_position(original.id)
        except (Conflict, Unavailable, BadGateway):
            reached = 0  # The agent server does not run, so all its events are reported.
        try:
            async with time_limit(_REPORT_SECONDS):
                while True:
                    async with self.database.read() as session:
                        last = await log.last_seq(session, original.id)
                    if last >= reached:
                        return last
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError as error:
            raise Unavailable(
                "The latest events of the conversation have not arrived yet.",
                code="log_behind",
                fix="Try again in a moment.",
            ) from error

    def _request(
        self, original: Conversation, task: StartTask, wanted: ForkConversation, snapshot_id: UUID
    ) -> StartRequest:
        begun = StartRequest.model_validate(task.request)
        carried = {name: getattr(begun, name) for name in _CARRIED_OVER}
        secrets = decrypt_secrets(self.cipher, task.encrypted_secrets)
        # The plugins' parameters are left out: the first message in the log contains them.
        plugins = [each.model_copy(update={"parameters": None}) for each in begun.plugins or ()]
        return StartRequest(
            title=wanted.title or original.title,
            llm_profile=original.llm_profile,
            snapshot_id=snapshot_id,
            secrets=secrets,
            plugins=plugins or None,
            **carried,
        )

    async def _give_files(self, session: AsyncSession, fork: StartTask, snapshot: Archive) -> None:
        """Creates the database row of the fork's sandbox, and makes `snapshot` the archive from which this
        sandbox is restored. `snapshot`: the archive with the files of the original conversation.

        From then on, the archive belongs to the fork, so it stays if the original conversation is deleted.
        """
        spec_id = StartRequest.model_validate(fork.request).sandbox_spec_id
        origin = await sandbox_specs.origin_of(session, fork.user_id, spec_id, snapshot.id)
        await self.sandboxes.create(
            session,
            sandbox_id=fork.sandbox_id,
            user_id=fork.user_id,
            snapshot_id=snapshot.id,
            base_image=origin.base_image,
            runtime_plugins=origin.runtime_plugins,
        )
        await self.sandboxes.archives.share(snapshot, fork.sandbox_id)
        row = await session.get_one(Archive, snapshot.id)
        row.sandbox_id, row.kind, row.conversation_id = fork.sandbox_id, ArchiveKind.ARCHIVE, None
