"""Stores the conversations of this server that are in memory. Each conversation is loaded from disk at its
first use, and all routes use the same object for it.
"""

import asyncio
import gc
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO
from uuid import UUID, uuid4

from pydantic import ValidationError

from agent_runtime.agent.agent import Agent
from agent_runtime.context.git_state import GitState
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.encrypted_keys import KeyEncryption
from agent_runtime.conversation.errors import AlreadyRunningError
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.conversation.event_log.list_entry import Entry
from agent_runtime.conversation.event_log.log import (
    LOG_NAME,
    LogMissingError,
    LogReader,
    reading,
)
from agent_runtime.conversation.event_log.reconciliation import append_missing
from agent_runtime.conversation.event_log.spec_signature import UNSIGNED, SpecSigner
from agent_runtime.conversation.fork import fork
from agent_runtime.conversation.naming import SavedLLM
from agent_runtime.conversation.run.recovery import settle
from agent_runtime.conversation.run.slots import RunSlots
from agent_runtime.conversation.trajectory.import_file import Wishes, receive
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.llm.complete import LLMClient
from agent_runtime.secrets.registry import Secrets
from agent_runtime.secrets.sources import CredentialFor
from agent_runtime.server.config import Config
from agent_runtime.server.conversations import problems
from agent_runtime.server.conversations.catalog import Catalog
from agent_runtime.server.conversations.idle import IdleWatch
from agent_runtime.server.errors import invalid
from agent_runtime.server.outgoing.report import Reporter
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.wire import CatchUpRequest, ForkRequest, StartConversationRequest
from agent_runtime.workspace import private_tree
from agent_runtime.workspace.users import server_files

logger = logging.getLogger(__name__)

DelegationOf = Callable[[UUID], Delegation]
"""A function that returns the Delegation of the conversation with this id: the functions with which the
conversation's agent starts child conversations and gives tasks to sub-agents.
"""


class Registry:
    """The conversations of this server. The object finds, creates and deletes conversations, and reports the
    conversations in memory to the app server.
    """

    def __init__(
        self,
        config: Config,
        client: LLMClient,
        reporter: Reporter,
        credential_for: CredentialFor,
        key_encryption: KeyEncryption | None = None,
        signer: SpecSigner = UNSIGNED,
    ) -> None:
        """Creates the registry without loading a conversation. `client`: sends requests to models.
        `reporter`: reports conversations to the app server. `credential_for`: returns the key to send with a
        request to a URL, or None if no key is sent. `key_encryption`: encrypts conversations' keys on disk;
        None means that keys are not written to disk. `signer`: signs the stored specification of each
        conversation (the data with which it was created), so that a change by another program is detected.
        """
        self._path = config.conversations_path
        self._client = client
        self._reporter = reporter
        self._live: dict[UUID, ConversationEngine] = {}
        # Conversations that are being deleted. They must not be opened again while their files still exist.
        self._leaving: set[UUID] = set()
        self.catalog = Catalog(self._path, self._live, self._leaving)
        # The keys of conversations that have left memory: they may not be stored on disk.
        self._agents: dict[UUID, Agent] = {}
        self._secrets: dict[UUID, Secrets] = {}
        self._credential_for = credential_for
        self._key_encryption = key_encryption
        self._signer = signer
        self._idle = IdleWatch(config.conversation_idle_ttl_seconds, self._put_away)
        self.delegation_of: DelegationOf = lambda _: ALONE
        self.saved_llm: SavedLLM = lambda _: None
        self.slots = RunSlots(config.max_concurrent_runs)
        self.last_activity = time.monotonic()

    def start(self) -> None:
        self._resume_all()
        self._idle.start()

    def _resume_all(self) -> None:
        """Loads the conversations whose agent was working when the last server process ended, or whose events
        were not all reported to the app server.
        """
        for conversation_id, entry in self.catalog.scan().items():
            try:
                if self._is_left_over(entry):
                    self._resume(self.get(conversation_id))
            except Exception:
                # One damaged log must not keep the others, and the server, from coming up.
                logger.exception(
                    "a conversation cannot be resumed", extra={"conversation_id": str(conversation_id)}
                )

    def create(
        self, request: StartConversationRequest, secrets: Secrets | None = None, git: GitState | None = None
    ) -> tuple[ConversationEngine, bool]:
        """Creates a conversation. Returns the new conversation and True. If a conversation with the id of the
        request exists already, returns this existing conversation and False; the existing conversation then
        uses the API keys and secrets of the request.

        `secrets`: the store of secrets that the new conversation shares with other conversations; None means
        a new store. `git`: the state of the workspace's git repository; None if not known.
        """
        conversation_id = request.conversation_id or uuid4()
        if conversation_id in self._leaving:
            raise problems.being_deleted(conversation_id)
        existing = self._find(conversation_id)
        if existing is not None:
            try:
                existing.keys.take(request.agent)
            except ValidationError as error:
                raise invalid(error, "agent") from error
            existing.secrets.update(request.secrets)
            existing.keep_secrets()
            return existing, False
        with problems.of_creation():
            conversation = create_conversation(
                self._directory(conversation_id),
                request,
                self._client,
                conversation_id=conversation_id,
                slots=self.slots,
                secrets=secrets or Secrets(self._credential_for),
                delegation=self.delegation_of(conversation_id),
                key_encryption=self._key_encryption,
                signer=self._signer,
                git=git,
            )
        self._add(conversation)
        return conversation, True

    async def fork(self, source: ConversationEngine, wanted: ForkRequest) -> ConversationEngine:
        """Copies a conversation, loads the copy into memory and returns the copy. Raises ServerProblem 409 if
        the id of the copy is in use. Raises EventNotFoundError if the event in `wanted` does not exist.
        """
        wanted = wanted.model_copy(update={"id": wanted.id or uuid4()})
        assert wanted.id is not None
        try:
            delegation = self.delegation_of(wanted.id)
            copy = await fork(source, self._directory(wanted.id), wanted, delegation)
        except FileExistsError as error:
            raise problems.exists(wanted.id) from error
        self._add(copy)
        return copy

    async def receive(self, file: IO[bytes], wishes: Wishes) -> ConversationEngine:
        """Creates a conversation from a file that contains an exported conversation. Returns the new
        conversation. `wishes`: the id, agent, working directory and title that the client chose. Raises
        ServerProblem 409 if this id is already in use. Raises NotATrajectoryError if the file is not valid.
        """
        directory = self._directory(wishes.conversation_id)
        # This directory is not named like a conversation, so an incomplete log is never opened.
        draft = self._path / f".receiving-{uuid4().hex}"
        await asyncio.to_thread(receive, file, draft, wishes, self._signer)
        try:
            with server_files():
                draft.rename(directory)
        except OSError as error:  # a directory that is not empty stays
            private_tree.remove(draft)
            raise problems.exists(wishes.conversation_id) from error
        if wishes.agent is not None:
            self._agents[wishes.conversation_id] = Agent.model_validate(wishes.agent)
        conversation = self.get(wishes.conversation_id)
        settle(conversation.run_context, by="by the export of this conversation")
        return conversation

    async def catch_up(self, conversation_id: UUID, missing: CatchUpRequest) -> ConversationEngine:
        """Adds the events in `missing` to a conversation's log, except those that the log already has. Then
        loads the conversation again and returns it.

        Raises ServerProblem 404 if the conversation does not exist. Raises AlreadyRunningError if its agent
        is working or a tool still has a running process. Raises ServerProblem 422 if an event is not valid.
        Raises LogGapError if there is a gap between the end of the log and the events in `missing`. Raises
        LogDiffersError if the log has other events at the same positions.
        """
        conversation = self.get(conversation_id)
        if conversation.is_busy:
            raise AlreadyRunningError
        await self._reporter.forget(conversation_id)
        await conversation.rest()
        if self._live.get(conversation_id) is not conversation:
            raise problems.not_found(conversation_id)  # it was deleted meanwhile
        if conversation.is_busy:
            self._follow(conversation)
            raise AlreadyRunningError
        try:
            append_missing(conversation.log, missing)
        except ValidationError as error:
            raise invalid(error, "events") from error
        finally:
            # The agent is not kept: the new events may have changed it.
            self._secrets[conversation_id] = conversation.secrets
            self._forget(conversation_id)
            conversation.release()
        return self.get(conversation_id)

    def get(self, conversation_id: UUID) -> ConversationEngine:
        """Returns the conversation, and loads it first if it is only on disk. Raises ServerProblem 404 if
        there is no such conversation. Raises ServerProblem 409 if another process uses the conversation.
        """
        found = self._find(conversation_id)
        if found is None:
            raise problems.not_found(conversation_id)
        return found

    def awake(self, conversation_id: UUID) -> ConversationEngine | None:
        """Returns the conversation if it is in memory. Otherwise returns None, without loading the
        conversation from disk.
        """
        return self._live.get(conversation_id)

    def has(self, conversation_id: UUID) -> bool:
        """Returns whether the conversation exists, in memory or only on disk."""
        if conversation_id in self._leaving:
            return False
        return conversation_id in self._live or (self._directory(conversation_id) / LOG_NAME).exists()

    def check(self, conversation_id: UUID) -> Path:
        """Checks that the conversation exists, and returns its directory. Does not load the conversation from
        disk. Raises ServerProblem 404 if it does not exist.
        """
        if not self.has(conversation_id):
            raise problems.not_found(conversation_id)
        return self._directory(conversation_id)

    @contextmanager
    def using(self, conversation_id: UUID) -> Iterator[ConversationEngine]:
        """Yields the conversation, and loads it first if it is only on disk (see `get`). The conversation
        stays in memory until the `with` block ends.
        """
        with self._idle.in_use(conversation_id):
            yield self.get(conversation_id)

    @contextmanager
    def reading(self, conversation_id: UUID) -> Iterator[LogReader]:
        """Opens a conversation's log for reading, without loading the conversation into memory. Raises
        ServerProblem 404 if the conversation does not exist.
        """
        if conversation_id in self._leaving:
            raise problems.not_found(conversation_id)
        live = self._live.get(conversation_id)
        if live is not None:
            with self._idle.in_use(conversation_id):
                yield live.log
            return
        try:
            with reading(self._directory(conversation_id)) as log:
                yield log
        except LogMissingError as error:
            raise problems.not_found(conversation_id) from error
        except sqlite3.DatabaseError as error:
            logger.exception("a log is damaged", extra={"conversation_id": str(conversation_id)})
            raise problems.damaged() from error

    async def delete(self, conversation_id: UUID) -> None:
        conversation = self.get(conversation_id)
        self._forget(conversation_id)
        self._agents.pop(conversation_id, None)
        self._secrets.pop(conversation_id, None)
        self._leaving.add(conversation_id)
        try:
            await self._reporter.forget(conversation_id)
            await conversation.delete()
        finally:
            self._leaving.remove(conversation_id)

    async def close(self) -> None:
        """Stops all agents and closes all conversations. The logs of conversations whose agent was working
        still have the status `running`, so the next server process lets these agents continue.
        """
        await self._idle.close()
        for conversation in self._live.values():
            await conversation.close()
        self._live.clear()

    def _find(self, conversation_id: UUID) -> ConversationEngine | None:
        live = self._live.get(conversation_id)
        if live is not None or conversation_id in self._leaving:
            return live
        try:
            with problems.of_opening(conversation_id):
                conversation = open_conversation(
                    self._directory(conversation_id),
                    self._client,
                    agent=self._agents.get(conversation_id),
                    slots=self.slots,
                    secrets=self._secrets.get(conversation_id) or Secrets(self._credential_for),
                    delegation=self.delegation_of(conversation_id),
                    key_encryption=self._key_encryption,
                    signer=self._signer,
                )
        except LogMissingError:
            return None
        self._add(conversation)
        return conversation

    def _add(self, conversation: ConversationEngine) -> None:
        conversation.naming.saved_llm = self.saved_llm
        self._live[conversation.id] = conversation
        self._idle.touch(conversation.id)
        conversation.subscribe(self._note)
        self._follow(conversation)

    def _follow(self, conversation: ConversationEngine) -> None:
        # The app server does not know child conversations.
        if conversation.spec.parent_conversation_id is None:
            self._reporter.follow(conversation)

    def _forget(self, conversation_id: UUID) -> None:
        del self._live[conversation_id]
        self._idle.forget(conversation_id)

    def _note(self, _: EventFrame) -> None:
        self.last_activity = time.monotonic()

    async def _put_away(self, conversation_id: UUID) -> bool:
        """Closes a conversation and removes it from memory, unless it is in use. Returns False if the
        conversation stays in memory.
        """
        conversation = self._live[conversation_id]
        if self._is_needed(conversation):
            return False
        await self._reporter.forget(conversation_id)
        await conversation.rest()
        if self._live.get(conversation_id) is not conversation:
            return True  # it was deleted meanwhile
        if self._is_needed(conversation):  # a request came for it meanwhile
            self._follow(conversation)
            return False
        self._agents[conversation_id] = conversation.agent
        self._secrets[conversation_id] = conversation.secrets
        self._forget(conversation_id)
        conversation.release()
        del conversation
        # Its objects refer to each other, and the collector does not start by itself for a few large texts.
        gc.collect()
        return True

    def _is_needed(self, conversation: ConversationEngine) -> bool:
        is_reported = self._reporter.is_on and conversation.spec.parent_conversation_id is None
        is_unreported = is_reported and conversation.log.acknowledged_seq < conversation.log.last_seq
        return conversation.is_busy or is_unreported or self._idle.is_used(conversation.id)

    def _resume(self, conversation: ConversationEngine) -> None:
        if conversation.state.status is not ExecutionStatus.RUNNING:
            return
        if self._is_task(conversation):
            # The parent is told that this task was interrupted, and decides whether it continues.
            settle(conversation.run_context, by="by a restart")
        elif conversation.spec.parent_conversation_id is None and self._reporter.is_on:
            # If the log comes from a backup, it must first get the newer events from the app server.
            self._reporter.when_current(conversation.id, partial(self._go_on, conversation))
        else:
            conversation.start()

    def _go_on(self, conversation: ConversationEngine) -> None:
        is_cut_off = conversation.state.status is ExecutionStatus.RUNNING and not conversation.is_running
        if is_cut_off and self._live.get(conversation.id) is conversation:
            conversation.start()

    def _is_task(self, conversation: ConversationEngine) -> bool:
        parent_id = conversation.spec.parent_conversation_id
        if parent_id is None or not self.has(parent_id):
            return False
        tasks = self.get(parent_id).state.tasks.values()
        return any(task.conversation_id == conversation.id for task in tasks)

    def _directory(self, conversation_id: UUID) -> Path:
        return self._path / conversation_id.hex

    def _is_left_over(self, entry: Entry) -> bool:
        is_reported = self._reporter.is_on and not entry.is_child
        is_unreported = is_reported and entry.acknowledged_seq < entry.last_seq
        return is_unreported or entry.status is ExecutionStatus.RUNNING
