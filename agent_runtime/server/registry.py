"""The live conversations of this server: opened when first needed, one object each."""

import contextlib
import logging
import sqlite3
from pathlib import Path
from uuid import UUID, uuid4

from pydantic import ValidationError

from agent_runtime.conversation.conversation import Conversation
from agent_runtime.conversation.fork import fork
from agent_runtime.conversation.log import LOG_NAME, LogInUseError, LogMissingError
from agent_runtime.events.state import ExecutionStatus
from agent_runtime.llm.complete import LLMClient
from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.report import Reporter
from agent_runtime.tools.registry import ToolNotFoundError
from agent_runtime.wire import ForkRequest, StartConversationRequest

logger = logging.getLogger(__name__)


class Registry:
    """Finds, creates and deletes conversations; reports those it has opened."""

    def __init__(self, config: Config, client: LLMClient, reporter: Reporter) -> None:
        self._path = config.conversations_path
        self._client = client
        self._reporter = reporter
        self._live: dict[UUID, Conversation] = {}

    def resume(self) -> None:
        """Brings back what the last process left: conversations cut off in a run, or not fully reported."""
        for conversation_id in self.ids():
            try:
                if self._is_left_over(conversation_id):
                    self._resume(self.get(conversation_id))
            except Exception:
                # One damaged log must not keep the others, and the server, from coming up.
                logger.exception(
                    "a conversation cannot be resumed", extra={"conversation_id": str(conversation_id)}
                )

    def ids(self) -> list[UUID]:
        """All conversations on disk, newest first."""
        if not self._path.exists():
            return []
        logs = [path / LOG_NAME for path in self._path.iterdir() if _as_id(path.name) is not None]
        found = [(log.stat().st_ctime, log.parent.name) for log in logs if log.exists()]
        return [UUID(name) for _, name in sorted(found, reverse=True)]

    def all(self) -> list[Conversation]:
        """All that can be opened, newest first."""
        found: list[Conversation] = []
        for conversation_id in self.ids():
            # What cannot be opened is logged there, and must not hide the rest.
            with contextlib.suppress(ServerProblem):
                found.append(self.get(conversation_id))
        return found

    def create(self, request: StartConversationRequest) -> tuple[Conversation, bool]:
        """The conversation, and whether it is new: one whose id exists is given back as it is."""
        conversation_id = request.conversation_id or uuid4()
        existing = self._find(conversation_id)
        if existing is not None:
            return existing, False
        directory = self._directory(conversation_id)
        try:
            conversation = Conversation.create(
                directory, request, self._client, conversation_id=conversation_id
            )
        except ValidationError as error:
            raise _invalid_agent(error) from error
        except ToolNotFoundError as error:
            raise ServerProblem(422, "tool_not_found", str(error)) from error
        except OSError as error:
            raise ServerProblem(
                422, "workspace_unusable", f"The working directory cannot be made: {error.strerror}."
            ) from error
        except ValueError as error:
            # Null bytes in a path, lone surrogates in a text: nothing that can be stored.
            raise ServerProblem(
                422, "validation_failed", "The request holds text that cannot be stored."
            ) from error
        self._add(conversation)
        return conversation, True

    async def fork(self, source: Conversation, wanted: ForkRequest) -> Conversation:
        """A copy, live. 409 when its id is taken; EventNotFoundError."""
        wanted = wanted.model_copy(update={"id": wanted.id or uuid4()})
        assert wanted.id is not None
        try:
            copy = await fork(source, self._directory(wanted.id), wanted)
        except FileExistsError as error:
            raise ServerProblem(
                409, "conversation_exists", f"There is a conversation {wanted.id} already."
            ) from error
        self._add(copy)
        return copy

    def get(self, conversation_id: UUID) -> Conversation:
        """The live conversation; 404 when there is none, 409 when another process has it."""
        found = self._find(conversation_id)
        if found is None:
            raise ServerProblem(404, "conversation_not_found", f"There is no conversation {conversation_id}.")
        return found

    async def delete(self, conversation_id: UUID) -> None:
        conversation = self.get(conversation_id)
        self._live.pop(conversation_id)
        await self._reporter.forget(conversation_id)
        await conversation.delete()

    async def close(self) -> None:
        """Stops all runs. Their logs still say `running`, so that the next process goes on with them."""
        for conversation in self._live.values():
            await conversation.close()
        self._live.clear()

    def _find(self, conversation_id: UUID) -> Conversation | None:
        live = self._live.get(conversation_id)
        if live is not None:
            return live
        try:
            conversation = Conversation.open(self._directory(conversation_id), self._client)
        except LogMissingError:
            return None
        except LogInUseError as error:
            raise ServerProblem(
                409, "conversation_in_use", "Another agent server works on this conversation."
            ) from error
        except (sqlite3.DatabaseError, ValidationError) as error:
            logger.exception("a log is damaged", extra={"conversation_id": str(conversation_id)})
            raise ServerProblem(
                500, "conversation_damaged", "The conversation's log on disk cannot be read."
            ) from error
        self._add(conversation)
        return conversation

    def _add(self, conversation: Conversation) -> None:
        self._live[conversation.id] = conversation
        self._reporter.follow(conversation)

    def _resume(self, conversation: Conversation) -> None:
        if conversation.state.status is ExecutionStatus.RUNNING:
            conversation.start()

    def _directory(self, conversation_id: UUID) -> Path:
        return self._path / conversation_id.hex

    def _is_left_over(self, conversation_id: UUID) -> bool:
        """Looked up without opening it: most conversations are over and stay on disk."""
        path = self._directory(conversation_id) / LOG_NAME
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            (last_seq,) = db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()
            acknowledged = db.execute("SELECT value FROM meta WHERE key = 'acknowledged_seq'").fetchone()
            status = db.execute(_LAST_STATUS).fetchone()
        finally:
            db.close()
        is_unreported = self._reporter.is_on and int(acknowledged[0] if acknowledged else 0) < last_seq
        return is_unreported or (status is not None and status[0] == ExecutionStatus.RUNNING)


_LAST_STATUS = """
SELECT json_extract(CAST(body AS TEXT), '$.value') FROM events
WHERE kind = 'ConversationStateUpdateEvent' AND json_extract(CAST(body AS TEXT), '$.key') = 'execution_status'
ORDER BY seq DESC LIMIT 1
"""


def _as_id(name: str) -> UUID | None:
    try:
        return UUID(hex=name)
    except ValueError:
        return None


def _invalid_agent(error: ValidationError) -> ServerProblem:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in ("agent", *first["loc"]))
    return ServerProblem(422, "validation_failed", f"{where}: {first['msg']}")
