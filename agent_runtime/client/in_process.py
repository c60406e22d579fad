"""Connects a Conversation to the engine that runs its agent in this process."""

import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Self
from uuid import UUID

from pydantic import ValidationError

from agent_runtime.agent.agent import Agent
from agent_runtime.client.agent_data import wanted_switch
from agent_runtime.client.conversation_host import InProcessHost
from agent_runtime.client.link import LinkLostError
from agent_runtime.context.git_state import git_state
from agent_runtime.conversation.add_plugin import add_plugin, take_plugin_keys, take_up
from agent_runtime.conversation.approval.answers import set_analyzer, set_policy
from agent_runtime.conversation.approval.client_tool_answers import answer_client_call
from agent_runtime.conversation.branches import go_back
from agent_runtime.conversation.changes import relabel
from agent_runtime.conversation.checkpoints.rewind import rewind
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log.follow import EndedError, SlowConsumerError, follow
from agent_runtime.conversation.event_log.log import LogInUseError, LogMissingError
from agent_runtime.conversation.fork import fork
from agent_runtime.conversation.model_switch import switch_llm, with_llm
from agent_runtime.conversation.run import goal_commands as pursue
from agent_runtime.conversation.side_question import ask
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.delegation.answers import reject
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.plugins.plugin import PluginError
from agent_runtime.plugins.store import PluginStore
from agent_runtime.project_executables.load_consented import ApprovedExecutables
from agent_runtime.secrets.sources import InvalidSecretError
from agent_runtime.tools.registry import ToolNotFoundError
from agent_runtime.wire import (
    CheckpointDiff,
    CheckpointList,
    ClientToolAnswer,
    ConversationInfo,
    ForkRequest,
    RewindRequest,
    RewindResult,
    SendMessageRequest,
    StartConversationRequest,
    StartGoalRequest,
)


class InProcess:
    """The link between a Conversation and the engine that runs its agent in this process. The argument
    `persistence_dir` is the directory in which the conversation's log is stored. None means a temporary
    directory.
    """

    patience_seconds = 60.0

    def __init__(
        self,
        conversation_id: UUID,
        agent: Agent,
        request: StartConversationRequest,
        persistence_dir: Path | None,
    ) -> None:
        self.id = conversation_id
        self._agent = agent
        self._request = request
        self._persistence_dir = persistence_dir
        self._root = persistence_dir or Path(tempfile.mkdtemp(prefix="slipway-"))
        self._plugins = PluginStore(self._root / "plugins", Path(request.workspace.working_dir))
        self._approved = ApprovedExecutables(self._root / "approved")

    async def open(self) -> None:
        self._client = LLMClient()
        self._conversation_host = InProcessHost(self._root, self._client)
        try:
            self._engine = await self._open_engine()
            self._conversation_host.take_in(self._engine)
        except BaseException:
            await self._give_back()
            raise

    async def close(self) -> None:
        await self._conversation_host.close()
        if self._persistence_dir is None:
            await self._conversation_host.forget(self._engine)
        await self._give_back()

    async def frames(self, after_seq: int) -> AsyncGenerator[bytes, None]:
        yield frames.sync(after_seq + 1, self._engine.log.last_seq).wire
        try:
            async with aclosing(follow(self._engine, after_seq=after_seq)) as followed:
                async for frame in followed:
                    yield frame.wire
        except (SlowConsumerError, EndedError) as error:
            raise LinkLostError from error

    async def info(self) -> ConversationInfo:
        return self._engine.info()

    async def last_seq(self) -> int:
        return self._engine.log.last_seq

    async def send(self, message: SendMessageRequest) -> None:
        self._engine.send(message.to_message(), message_id=message.id)

    async def start(self) -> None:
        self._engine.start()

    async def pause(self) -> None:
        self._engine.pause()

    async def interrupt(self) -> None:
        await self._engine.interrupt()

    async def condense(self) -> None:
        await self._engine.condensing.request()

    async def ask(self, question: str) -> str:
        return await ask(self._engine, question)

    async def navigate(self, event_id: str | None) -> None:
        go_back(self._engine, event_id)

    async def checkpoints(self) -> CheckpointList:
        return self._engine.checkpoints.list()

    async def diff_checkpoint(self, number: int) -> CheckpointDiff:
        return await self._engine.checkpoints.diff(number)

    async def rewind(self, number: int, wanted: RewindRequest) -> RewindResult:
        return await rewind(self._engine, number, wanted)

    async def update(self, *, title: str | None, tags: dict[str, str] | None) -> None:
        relabel(self._engine, title=title, tags=tags)

    async def fork(self, wanted: ForkRequest) -> Self:
        assert wanted.id is not None
        twin = type(self)(wanted.id, self._agent, self._request, self._persistence_dir)
        try:
            delegation = self._conversation_host.delegation_of(wanted.id)
            copy = await fork(self._engine, twin._directory, wanted, delegation)  # noqa: SLF001 (one of us)
        except FileExistsError as error:
            raise ConversationError("conversation_exists", f"There is a conversation {wanted.id}.") from error
        await copy.close()
        return twin

    async def switch_llm(self, llm: LLM) -> None:
        switch_llm(self._engine, llm)
        self._agent = with_llm(self._agent, llm)

    async def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None:
        with self._refusals():
            self._engine.secrets.update(secrets)
        self._engine.keep_secrets()

    async def set_confirmation_policy(self, policy: JsonObject) -> None:
        set_policy(self._engine, policy)

    async def set_security_analyzer(self, analyzer: JsonObject | None) -> None:
        set_analyzer(self._engine, analyzer)

    async def load_plugin(self, plugin_ref: str) -> None:
        with self._refusals():
            add_plugin(self._engine, await self._plugins.find(plugin_ref, self._engine.spec.working_dir))

    async def consent(self, hashes: Sequence[str]) -> None:
        with self._refusals():
            await take_up(self._engine, self._approved, hashes)

    async def pursue_goal(self, wanted: StartGoalRequest) -> None:
        pursue.pursue(self._engine, wanted.objective, max_iterations=wanted.max_iterations)

    async def stop_goal(self) -> None:
        pursue.rest(self._engine)

    async def resume_goal(self) -> None:
        pursue.resume(self._engine)

    async def answer_client_tool(self, answer: ClientToolAnswer) -> None:
        answer_client_call(self._engine, answer.action_id, answer.content, is_error=answer.is_error)

    async def reject(self, reason: str) -> None:
        reject(self._engine, self._conversation_host, reason)

    async def final_response(self) -> str:
        return self._engine.state.final_response

    @property
    def _directory(self) -> Path:
        return self._root / self.id.hex

    async def _open_engine(self) -> ConversationEngine:
        with self._refusals():
            try:
                delegation = self._conversation_host.delegation_of(self.id)
                engine = open_conversation(self._directory, self._client, delegation=delegation)
            except LogMissingError:
                request = await self._approved.expand(await self._plugins.expand(self._request))
                return create_conversation(
                    self._directory,
                    request,
                    self._client,
                    conversation_id=self.id,
                    delegation=delegation,
                    git=await git_state(Path(request.workspace.working_dir)),
                )
        try:
            with self._refusals():
                await self._come_back(engine)
        except ConversationError:
            await engine.close()
            raise
        return engine

    async def _come_back(self, engine: ConversationEngine) -> None:
        switch = wanted_switch(engine.info().agent, self._agent)
        if switch is not None:
            switch_llm(engine, *switch)
        engine.keys.take(revealed(self._agent))
        engine.secrets.update(self._request.secrets)
        await take_plugin_keys(engine, self._plugins, self._approved)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except LogInUseError as error:
            raise ConversationError(
                "conversation_in_use",
                f"Conversation {self.id} is open in another process.",
                "Close it there.",
            ) from error
        except ToolNotFoundError as error:
            raise ConversationError("tool_not_found", str(error)) from error
        except InvalidSecretError as error:
            raise ConversationError("invalid_secret", str(error)) from error
        except PluginError as error:
            raise ConversationError(error.code, str(error)) from error
        except ValidationError as error:
            raise ConversationError("validation_failed", _first_fault(error)) from error

    async def _give_back(self) -> None:
        await self._client.close()
        if self._persistence_dir is None:
            shutil.rmtree(self._root, ignore_errors=True)


def _first_fault(error: ValidationError) -> str:
    """Returns the field and the message of the first validation error. Leaves out the value, which may be a
    secret.
    """
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
