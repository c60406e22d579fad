"""The class Conversation, with which a program controls an agent in this process or on a server."""

import asyncio
import atexit
import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID, uuid4

from agent_runtime.agent.agent import Agent
from agent_runtime.client.callbacks import Callbacks, EventCallback, StreamCallback
from agent_runtime.client.errors import ConversationRunError
from agent_runtime.client.link import Link
from agent_runtime.client.local_workspace import LocalWorkspace
from agent_runtime.client.naming import title_of
from agent_runtime.client.opening import consented, dumped, link_to
from agent_runtime.client.remote_workspace import RemoteWorkspace
from agent_runtime.client.session import ConversationSession
from agent_runtime.client.state import ConversationState
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.conversation.model_switch import with_llm
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject, new_id
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.message import Message
from agent_runtime.hooks.config import HookConfig
from agent_runtime.llm.config import LLM
from agent_runtime.security.analyzers import AnyAnalyzer
from agent_runtime.security.policy import NeverConfirm, Policy
from agent_runtime.tools.external.client_tool import ClientToolSpec
from agent_runtime.wire import (
    CheckpointDiff,
    CheckpointInfo,
    ClientToolAnswer,
    ForkRequest,
    PluginSource,
    ProjectExecutable,
    RewindRequest,
    RewindResult,
    SendMessageRequest,
    StartConversationRequest,
    StartGoalRequest,
    StuckDetectionThresholds,
    WorkingDirectory,
)


class Conversation:
    """A dialogue with an agent. Use the object in a `with` block, or call `close` at the end.

    A run is the agent's work from its start until it stops. All methods can be called from any thread. A
    method that fails raises a ConversationError. A callback must not wait for a run, so it must not call
    `close` or `wait`, and may call `run`, `pursue_goal` and `resume_goal` only with `blocking=False`.
    """

    def __init__(
        self,
        agent: Agent,
        workspace: str | Path | LocalWorkspace | RemoteWorkspace,
        *,
        conversation_id: UUID | None = None,
        persistence_dir: str | Path | None = None,
        callbacks: Sequence[EventCallback] = (),
        stream_callbacks: Sequence[StreamCallback] = (),
        max_iteration_per_run: int = 500,
        stuck_detection: bool = True,
        stuck_detection_thresholds: StuckDetectionThresholds | Mapping[str, int] | None = None,
        confirmation_policy: Policy | None = None,
        security_analyzer: AnyAnalyzer | None = None,
        hook_config: HookConfig | Mapping[str, Any] | None = None,
        plugins: Sequence[PluginSource | str] = (),
        consent: Callable[[ProjectExecutable], bool] | Sequence[str] = (),
        client_tools: Sequence[ClientToolSpec] = (),
        secrets: Mapping[str, str | JsonObject] | None = None,
        tags: Mapping[str, str] | None = None,
        title: str | None = None,
    ) -> None:
        """Starts a new conversation, or opens the existing conversation `conversation_id` in its last state.

        An existing conversation uses its stored settings; only the models and keys of `agent` may differ.
        `workspace`: the directory of this machine, or of a server, in which the agent works.
        `persistence_dir`: where logs of local conversations are stored; if None, `close` deletes the log.

        `callbacks`: functions that are called once with every new event of the log, in order, in a separate
        thread. `stream_callbacks`: functions that are called with the pieces of replies, if the LLM has
        `stream=True`. `confirmation_policy`: which actions need your confirmation; by default, none. Before
        such an action, `run` returns. Another `run` approves the waiting actions, `reject_pending_actions`
        rejects them. `security_analyzer`: rates the risk of actions, in addition to Slipway's built-in rules.

        `hook_config`: commands that run at certain points of the conversation, on the machine where the agent
        works. `plugins`: directories or repositories with skills, hooks and MCP servers. The machine where
        the agent works fetches the plugins. A str is the `source` of a PluginSource. `client_tools`: tools of
        this program that the agent may call. Your callbacks get the calls. If a tool has `awaits_answer`,
        answer its calls with `answer_client_tool`. For other tools, the agent does not wait.

        `consent`: the hashes (from `workspace.executables()`) of the project's hooks, MCP servers and plugins
        that may run, or a function that gets each executable and returns whether it may run. By default, none
        runs. `secrets`: secrets by name. A command that contains the name gets the secret as an environment
        variable. Each secret is a str, or an object, for example with a URL from which it is read at each use
        (`LocalAgentServer.get_secrets`). The model never sees secrets. They are not stored unencrypted: pass
        them again at each opening. `max_iteration_per_run`: how often one run may ask the model.
        """
        if not isinstance(workspace, LocalWorkspace | RemoteWorkspace):
            workspace = LocalWorkspace(workspace)
        self.agent = agent
        self.workspace = workspace
        chosen_id = conversation_id or uuid4()
        request = StartConversationRequest(
            agent=revealed(agent),
            workspace=WorkingDirectory(working_dir=workspace.working_dir),
            max_iterations=max_iteration_per_run,
            stuck_detection=stuck_detection,
            stuck_detection_thresholds=(
                None
                if stuck_detection_thresholds is None
                else StuckDetectionThresholds.model_validate(stuck_detection_thresholds)
            ),
            confirmation_policy=(confirmation_policy or NeverConfirm()).model_dump(mode="json"),
            security_analyzer=dumped(security_analyzer),
            hook_config=dumped(hook_config),
            consent=consented(consent, workspace),
            plugins=[PluginSource(source=one) if isinstance(one, str) else one for one in plugins] or None,
            client_tools=[dumped(one) for one in client_tools],
            secrets=dict(secrets or {}),
            tags=dict(tags or {}),
            title=title,
            # A title costs a call of the model, so programs ask for it with `generate_title`.
            autotitle=False,
        )
        link = link_to(workspace, chosen_id, agent, request, persistence_dir)
        self._open(link, callbacks, stream_callbacks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def id(self) -> UUID:
        return self._session.link.id

    @property
    def state(self) -> ConversationState:
        return ConversationState(self._session)

    @property
    def final_response(self) -> str:
        """The text of the agent's last message to the user. Empty if there is none yet."""
        return self._session.call(self._session.link.final_response())

    def send_message(self, message: str | Message) -> None:
        """Adds a message of the user to the log. If the agent does not work, call `run` to get a reply."""
        said = message if isinstance(message, Message) else Message.of("user", message)
        # The id makes it safe to send once more when the connection breaks.
        request = SendMessageRequest(id=new_id(), role=said.role, content=said.content)
        self._session.call(self._session.link.send(request))

    def run(self, *, blocking: bool = True) -> None:
        """Lets the agent work until it has finished, waits for confirmation, or was paused or interrupted. If
        `blocking` is False, returns at once; call `wait` to wait for the end of the run.

        Raises ConversationRunError if the run failed, or StuckError if the agent repeated itself. Ctrl-C, or
        an exception of a callback, interrupts the run and is then raised.
        """
        self._refuse_in_callback("run" if blocking else None)
        self._session.call(self._session.start())
        if blocking:
            self.wait()

    def wait(self) -> None:
        """Waits until the agent has stopped. Raises the errors that `run` raises."""
        self._refuse_in_callback("wait")
        ending = self._session.begin(self._session.until_ended())
        try:
            ending.result()
        except KeyboardInterrupt:
            self._interrupt_and_wait(ending)
            raise

    async def arun(self) -> None:
        """Does the same as `run`, but as a coroutine. Cancelling the call interrupts the run."""
        session = self._session
        await asyncio.wrap_future(session.begin(session.start()))
        try:
            await asyncio.wrap_future(session.begin(session.until_ended()))
        except asyncio.CancelledError:
            await asyncio.wrap_future(session.begin(session.link.interrupt()))
            raise

    def set_confirmation_policy(self, policy: Policy) -> None:
        """Sets which actions of the agent need confirmation, from the model's next reply on."""
        self._session.call(self._session.link.set_confirmation_policy(policy.model_dump(mode="json")))

    def set_security_analyzer(self, analyzer: AnyAnalyzer | None) -> None:
        """Sets the security analyzer, which rates how risky actions are; None removes it. Applies from the
        model's next reply on.
        """
        self._session.call(self._session.link.set_security_analyzer(dumped(analyzer)))

    def reject_pending_actions(self, reason: str = "The user rejected the action.") -> None:
        """Rejects the actions that wait for confirmation. The next `run` informs the agent about the reason.
        Raises NothingToConfirmError if no action waits.
        """
        self._session.call(self._session.link.reject(reason))

    def answer_client_tool(
        self, action: ActionEvent | str, content: str | Sequence[Content], *, is_error: bool = False
    ) -> None:
        """Sends the result of the agent's call of a client tool (a tool that this program executes).
        `action`: the event of the call, or the event's id. `content`: the result. `is_error`: whether the
        call failed. Raises ClientCallNotWaitingError if no such call waits for a result.
        """
        parts = [TextContent(text=content)] if isinstance(content, str) else list(content)
        action_id = action if isinstance(action, str) else action.id
        answer = ClientToolAnswer(action_id=action_id, content=parts, is_error=is_error)
        self._session.call(self._session.link.answer_client_tool(answer))

    def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None:
        """Adds secrets, or replaces the secrets with the same names. The next command gets the new values."""
        self._session.call(self._session.link.update_secrets(secrets))

    def switch_llm(self, llm: LLM) -> None:
        """Changes the agent's model. The agent's next request already uses the new model."""
        self._session.call(self._session.link.switch_llm(llm))
        self.agent = with_llm(self.agent, llm)

    def load_plugin(self, plugin_ref: str) -> None:
        """Adds a plugin and informs the agent about it. `plugin_ref`: the name of one of the user's plugins,
        or the directory or repository of a plugin. Raises ConversationError `plugin_not_found`,
        `plugin_not_fetched` or `plugin_unusable` (not loadable). Raises ConversationError `consent_required`
        for a plugin of the project: call the method `consent` instead.
        """
        self._session.call(self._session.link.load_plugin(plugin_ref))

    def consent(self, hashes: Sequence[str]) -> None:
        """Adds hooks, MCP servers and plugins of the project to the conversation after the user has approved
        them. `hashes`: their hashes, from `workspace.executables()`. Raises ConversationError `offer_changed`
        if one of them has changed since its hash was read.
        """
        self._session.call(self._session.link.consent(hashes))

    def pursue_goal(self, objective: str, *, max_iterations: int = 10, blocking: bool = True) -> None:
        """Sets a goal and lets the agent work, as `run` does, until a judge finds that the goal is reached.

        The judge is the agent's model. The agent gets the judge's objections. `state.goal` shows the
        progress. `max_iterations`: the work on the goal ends after this many verdicts of the judge. Raises
        AlreadyRunningError if a run is active.
        """
        wanted = StartGoalRequest(objective=objective, max_iterations=max_iterations)
        self._refuse_in_callback("pursue_goal" if blocking else None)
        self._session.call(self._session.link.pursue_goal(wanted))
        if blocking:
            self.wait()

    def stop_goal(self) -> None:
        """Stops the work on the goal. A working agent continues, but no model judges its result."""
        self._session.call(self._session.link.stop_goal())

    def resume_goal(self, *, blocking: bool = True) -> None:
        """Continues the work on a stopped goal, with the number of iterations that were left. Raises
        NoGoalToResumeError if no goal is stopped. Raises AlreadyRunningError if a run is active.
        """
        self._refuse_in_callback("resume_goal" if blocking else None)
        self._session.call(self._session.link.resume_goal())
        if blocking:
            self.wait()

    def pause(self) -> None:
        """Asks the agent to stop before its next model call. A running command is not interrupted."""
        self._session.call(self._session.link.pause())

    def interrupt(self) -> None:
        """Stops the agent at once: drops the model's unfinished reply and ends a running command."""
        self._session.call(self._session.link.interrupt())

    def condense(self) -> None:
        """Replaces older events in the prompt by a summary: at once, or, during a run, before the next reply.
        Raises NoCondenserError without a condenser, and NothingToCondenseError if there are too few events.
        """
        self._session.call(self._session.link.condense())

    def ask_agent(self, question: str) -> str:
        """Asks the agent a question, also while it works. Returns the answer. Adds nothing to the log."""
        return self._session.call(self._session.link.ask(question))

    def navigate(self, event_id: str | None) -> None:
        """Resets the conversation to an earlier event, or to the beginning if `event_id` is None, so that it
        continues from there. Files are not changed, and the log still contains the later events. Raises
        EventNotFoundError if there is no such event. Raises AlreadyRunningError if the agent works.
        """
        self._session.call(self._session.link.navigate(event_id))

    def checkpoints(self) -> Sequence[CheckpointInfo]:
        """Returns the checkpoints of the conversation, oldest first. A checkpoint is a snapshot of the files.
        A checkpoint is made before the agent's work on each message, and another one after this work.
        """
        return self._session.call(self._session.link.checkpoints()).checkpoints

    def diff_checkpoint(self, checkpoint_id: int) -> CheckpointDiff:
        """Returns how the files have changed since the checkpoint with this number. `rewind` undoes these
        changes. Raises CheckpointNotFoundError, or CheckpointsUnavailableError if files cannot be compared.
        """
        return self._session.call(self._session.link.diff_checkpoint(checkpoint_id))

    def rewind(
        self,
        checkpoint_id: int,
        *,
        files: bool = True,
        chat: bool = True,
        on_edits: Literal["refuse", "keep"] = "refuse",
    ) -> RewindResult:
        """Resets the files, the chat, or both to a checkpoint. Before that, saves the current state as
        another checkpoint, which the field `undo` of the result names.

        The chat is reset to the moment before the message for which the checkpoint was made. `on_edits`: if
        the user or another program has edited files since the checkpoint, `refuse` raises EditedSinceError,
        and `keep` does not change these files. Raises CheckpointsUnavailableError if the current files cannot
        be saved. Raises RewindIncompleteError if some files could not be restored.
        """
        wanted = RewindRequest(files=files, chat=chat, on_edits=on_edits)
        return self._session.call(self._session.link.rewind(checkpoint_id, wanted))

    def fork(
        self,
        *,
        conversation_id: UUID | None = None,
        title: str | None = None,
        tags: Mapping[str, str] | None = None,
        reset_metrics: bool = True,
        from_event_id: str | None = None,
        callbacks: Sequence[EventCallback] = (),
        stream_callbacks: Sequence[StreamCallback] = (),
    ) -> Self:
        """Returns an independent copy of the conversation in the same workspace, up to the event
        `from_event_id` or up to now (None). The caller must close the copy, too. `reset_metrics`: whether the
        copy's token usage and cost start at 0. Raises EventNotFoundError if there is no such event.
        """
        wanted = ForkRequest(
            id=conversation_id or uuid4(),
            title=title,
            tags=None if tags is None else dict(tags),
            reset_metrics=reset_metrics,
            from_event_id=from_event_id,
        )
        link = self._session.call(self._session.link.fork(wanted))
        twin = copy.copy(self)
        twin._open(link, callbacks, stream_callbacks)  # noqa: SLF001 (one of us)
        return twin

    def update(self, *, title: str | None = None, tags: Mapping[str, str] | None = None) -> None:
        """Sets the title, the tags or both. None changes nothing. New tags replace all earlier tags."""
        new_tags = None if tags is None else dict(tags)
        self._session.call(self._session.link.update(title=title, tags=new_tags))

    def generate_title(self, max_length: int = 50) -> str:
        """Asks the agent's model, in this process, for a title of the conversation. Does not set the title.
        Raises ConversationError `no_message` if there is no message, or `no_title` if the model gives none.
        """
        return self._session.call(title_of(self.state.events, self.agent.llm, max_length))

    def close(self) -> None:
        """Stops the agent and frees all resources. For a conversation on a server, only ends the connection;
        the agent continues. May be called twice. If this stops a run in this process, and the log is kept,
        the next `run` continues the work after the conversation is opened again.
        """
        self._session.close()
        atexit.unregister(self.close)

    def _open(
        self,
        link: Link,
        callbacks: Sequence[EventCallback],
        stream_callbacks: Sequence[StreamCallback],
    ) -> None:
        self._session = ConversationSession(link, Callbacks(callbacks, stream_callbacks))
        # Or else a program that forgets to close it would leave commands running.
        atexit.register(self.close)

    def _interrupt_and_wait(self, ending: Future[None]) -> None:
        self.interrupt()
        # The run's own error does not matter here, because the run was to be stopped.
        with contextlib.suppress(ConversationRunError):
            ending.result()

    def _refuse_in_callback(self, what: str | None) -> None:
        if what and self._session.callbacks.is_here:
            raise ConversationError(
                "called_from_callback",
                f"`{what}` would wait for the callback that calls it.",
                "Send a message instead: a run that is going on answers it.",
            )
