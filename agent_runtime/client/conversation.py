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
    """A dialogue with an agent. Use it in a `with` block, or call `close`.

    All methods can be called from any thread. Callbacks may call all except `close` and methods that wait
    for a run: `run`, `wait`, and `pursue_goal` and `resume_goal` unless `blocking` is False.
    Every refusal is raised as a ConversationError.
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
        """Starts a new conversation, or opens the existing one with this id in its last state.

        An existing conversation uses its stored settings. Only the agent's models and keys may be changed.
        `workspace`: where the agent works: a directory of this machine, or a server with a directory.
        `persistence_dir`: where logs of local conversations are stored. Without it, `close` deletes the log.

        `callbacks`: functions that are called once with every new event of the log, in order, in a separate
        thread. `stream_callbacks`: functions that are called with the pieces of replies, if the LLM has
        `stream=True`. `confirmation_policy`: which actions need your confirmation. Before such an action,
        `run` returns. Another `run` approves the waiting actions, `reject_pending_actions` rejects them.
        `security_analyzer`: rates the risk of actions, in addition to the rules for commands and files.

        `hook_config`: commands that run at certain points, on the machine where the agent works. `plugins`:
        directories or repositories with skills, hooks and MCP servers, fetched by the machine where the agent
        works. A text is the `source` of a plugin. `client_tools`: tools of this program that the agent may
        call. Your callbacks get the calls. If a tool has `awaits_answer`, answer its calls with
        `answer_client_tool`. Calls of other tools are answered at once; you may send a message later.

        `consent`: which of the project's hooks, MCP servers and plugins may run: the hashes of some
        `workspace.executables()`, or a function that gets each of these and returns whether it may run.
        Without it none of them runs. `secrets`: by name of an environment variable. A command gets the
        variable if it contains the name. A secret is a value, or an address where the value is looked up at
        each use (`LocalAgentServer.get_secrets`). Values are never shown to the model and never stored on
        disk: give them again when you reopen the conversation. `max_iteration_per_run`: how often one run may
        ask the model.
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
        """Adds a message of the user to the log. Does not start a run; an active run answers the message."""
        said = message if isinstance(message, Message) else Message.of("user", message)
        # The id makes it safe to send once more when the connection breaks.
        request = SendMessageRequest(id=new_id(), role=said.role, content=said.content)
        self._session.call(self._session.link.send(request))

    def run(self, *, blocking: bool = True) -> None:
        """Lets the agent work until it has finished, waits for confirmation, or was paused or interrupted.
        With `blocking` False, returns at once; `wait` then waits for the end.

        Raises ConversationRunError if the run failed, or StuckError if the agent repeated itself. Ctrl-C, or
        an exception of a callback, interrupts the run and is then raised.
        """
        self._refuse_in_callback("run" if blocking else None)
        self._session.call(self._session.start())
        if blocking:
            self.wait()

    def wait(self) -> None:
        """Waits until this conversation has no active run. Raises the same errors as `run`."""
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
        """Sets the security analyzer, which rates how risky actions are, from the model's next reply on
        (None: none).
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
        `action`: the event of the call, or its id. Raises ClientCallNotWaitingError.
        """
        parts = [TextContent(text=content)] if isinstance(content, str) else list(content)
        action_id = action if isinstance(action, str) else action.id
        answer = ClientToolAnswer(action_id=action_id, content=parts, is_error=is_error)
        self._session.call(self._session.link.answer_client_tool(answer))

    def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None:
        """Adds secrets, or replaces the secrets with the same names. The next command gets the new values."""
        self._session.call(self._session.link.update_secrets(secrets))

    def switch_llm(self, llm: LLM) -> None:
        """Changes the agent's model. The new model is used from the next request to a model on."""
        self._session.call(self._session.link.switch_llm(llm))
        self.agent = with_llm(self.agent, llm)

    def load_plugin(self, plugin_ref: str) -> None:
        """Adds a plugin to the conversation and informs the agent about it. `plugin_ref`: the name of one of
        the user's plugins, or the source of a plugin. Raises ConversationError `plugin_not_found`,
        `plugin_not_fetched` or `plugin_unusable`; `consent_required` for a plugin of the project (see
        `consent`).
        """
        self._session.call(self._session.link.load_plugin(plugin_ref))

    def consent(self, hashes: Sequence[str]) -> None:
        """Adds hooks, MCP servers and plugins of the project to the conversation, after the user has
        consented to them. `hashes`: the hashes of these, from `workspace.executables()`. Raises
        ConversationError `offer_changed` if one of them has changed since its hash was read.
        """
        self._session.call(self._session.link.consent(hashes))

    def pursue_goal(self, objective: str, *, max_iterations: int = 10, blocking: bool = True) -> None:
        """Sets a goal and lets the agent work, as `run` does, until a judge finds that the goal is reached.

        The judge is the agent's model. The agent gets the judge's objections. `state.goal` shows the
        progress. `max_iterations`: the work on the goal ends after this many verdicts of the judge. Raises
        AlreadyRunningError.
        """
        wanted = StartGoalRequest(objective=objective, max_iterations=max_iterations)
        self._refuse_in_callback("pursue_goal" if blocking else None)
        self._session.call(self._session.link.pursue_goal(wanted))
        if blocking:
            self.wait()

    def stop_goal(self) -> None:
        """Stops the work on the goal. An active run continues, but no judge checks the goal at its end."""
        self._session.call(self._session.link.stop_goal())

    def resume_goal(self, *, blocking: bool = True) -> None:
        """Continues the work on a stopped goal. The judge may still give as many verdicts as were left when
        the goal was stopped. Raises NoGoalToResumeError or AlreadyRunningError.
        """
        self._refuse_in_callback("resume_goal" if blocking else None)
        self._session.call(self._session.link.resume_goal())
        if blocking:
            self.wait()

    def pause(self) -> None:
        """Asks a run to stop before its next request to the model. A command that is running ends first."""
        self._session.call(self._session.link.pause())

    def interrupt(self) -> None:
        """Stops a run at once: drops the model's unfinished reply and ends a running command."""
        self._session.call(self._session.link.interrupt())

    def condense(self) -> None:
        """Replaces older events in the model's prompt by a summary: at once, or before the model's next reply
        if a run is going on. Raises NoCondenserError or NothingToCondenseError.
        """
        self._session.call(self._session.link.condense())

    def ask_agent(self, question: str) -> str:
        """Asks the agent a question, also during a run. Returns the answer. Adds nothing to the log."""
        return self._session.call(self._session.link.ask(question))

    def navigate(self, event_id: str | None) -> None:
        """Returns the conversation to an earlier event, or to the beginning (None), so that it continues from
        there. Files are not changed, and the log still contains the later events. Raises EventNotFoundError,
        or AlreadyRunningError while a run is going on.
        """
        self._session.call(self._session.link.navigate(event_id))

    def checkpoints(self) -> Sequence[CheckpointInfo]:
        """Returns the checkpoints of the conversation, oldest first. A checkpoint is a snapshot of the files,
        made before and after the work on each message.
        """
        return self._session.call(self._session.link.checkpoints()).checkpoints

    def diff_checkpoint(self, checkpoint_id: int) -> CheckpointDiff:
        """Returns how the files have changed since the checkpoint with this number. `rewind` would undo these
        changes. Raises CheckpointNotFoundError or CheckpointsUnavailableError.
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

        The chat is reset to the moment before the message on which the agent then worked. `on_edits`:
        `refuse` raises EditedSinceError for files that the user or a program has edited since, `keep` does
        not change these files. Raises AlreadyRunningError, CheckpointNotFoundError,
        CheckpointsUnavailableError, RewindIncompleteError.
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
        """Returns an independent copy of the conversation, up to an event or up to now, in the same
        workspace. The caller must close the copy, too. Raises EventNotFoundError.
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
        """Sets the title, the tags or both. Given tags replace all earlier tags."""
        new_tags = None if tags is None else dict(tags)
        self._session.call(self._session.link.update(title=title, tags=new_tags))

    def generate_title(self, max_length: int = 50) -> str:
        """Asks the agent's model, in this process, for a title of the conversation. Does not set the title.
        Raises ConversationError `no_message` or `no_title`.
        """
        return self._session.call(title_of(self.state.events, self.agent.llm, max_length))

    def close(self) -> None:
        """Stops the agent and frees all resources. A conversation on a server is only disconnected; its agent
        continues. May be called twice. If a local run was active, the log records this, and the next `run` of
        the reopened conversation continues it.
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
