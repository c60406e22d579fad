"""The client of the agent server in one sandbox, with one method for each kind of call. See calls.py for
errors.
"""

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import ValidationError

from agent_runtime.time_limits import time_limit
from agent_runtime.wire import (
    API_KEY_HEADER,
    BashCommand,
    BashOutput,
    CatchUpRequest,
    CheckpointDiff,
    CheckpointList,
    ConfirmationResponseRequest,
    ConversationInfo,
    ExecutablesResponse,
    ExecuteBashRequest,
    GitRemotes,
    ListeningPort,
    LogPosition,
    McpChangeAnswer,
    McpQuestionAnswer,
    PortsResponse,
    ProjectExecutable,
    RewindRequest,
    RewindResult,
    RuntimePluginInfo,
    RuntimePluginList,
    SendMessageRequest,
    SkillsResponse,
    StartConversationRequest,
    StartGoalRequest,
    SwitchLLMRequest,
)
from app_server.agent_client.calls import TIMEOUT_SECONDS, parse, to_json, to_params
from app_server.agent_client.files import AgentFiles
from app_server.agent_client.first_page import AgentPages
from app_server.agent_client.replies import (
    AgentServerInfo,
    BashCommands,
    BashOutputs,
    BrowserView,
    EventPage,
    GitChange,
    GitDiff,
    IdleTime,
)
from app_server.core.errors import BadGateway, Conflict

HEALTH_TIMEOUT_SECONDS = 2.0
SEND_TIMEOUT_SECONDS = 15.0
# A model reads the whole conversation and writes a summary.
CONDENSE_TIMEOUT_SECONDS = 600.0
# A repository with thousands of files, on a busy machine.
FIND_TIMEOUT_SECONDS = 120.0
# A large workspace is read, compared and written again.
SNAPSHOT_TIMEOUT_SECONDS = 300.0
# VS Code on a busy machine.
PLUGIN_TIMEOUT_SECONDS = 120.0
MAX_PATCH_BYTES = 50 * 1024**2
_BASH_EVENTS = "/api/bash/bash_events/search"
HandOver = Literal["taken", "refused", "absent"]
"""The result of replacing a session key. `taken`: the new key is in use. `refused`: the agent server accepts
none of the known keys. `absent`: no reply came, or the reply is not from the sandbox's agent server.
"""


class AgentClient(AgentFiles, AgentPages):
    """A client of the agent server at `url`, with one method for each kind of call. The creation of a client
    takes almost no time, because the client opens no connection.
    """

    async def idle_seconds(self) -> float | None:
        """Returns for how many seconds no agent has been working in the sandbox. Returns None if the agent
        server does not answer.
        """
        try:
            async with time_limit(HEALTH_TIMEOUT_SECONDS):
                reply = await self._http.get(f"{self.url}/server_info", headers=self.passage)
            return IdleTime.model_validate_json(reply.raise_for_status().content).idle_time
        except (httpx.HTTPError, TimeoutError, ValidationError):
            return None

    async def is_healthy(self) -> bool:
        """Returns whether the agent server answers and accepts this client's session key."""
        try:
            # The limit is for the whole reply, because a reply in small pieces would otherwise keep its
            # caller waiting.
            async with time_limit(2 * HEALTH_TIMEOUT_SECONDS):
                health = await self._http.get(
                    f"{self.url}/health", headers=self.passage, timeout=HEALTH_TIMEOUT_SECONDS
                )
                # Some other process may have taken the port: only our own agent server knows the key.
                greeting = await self._http.get(
                    f"{self.url}/api/conversations/{UUID(int=0).hex}",
                    headers=self._headers,
                    timeout=HEALTH_TIMEOUT_SECONDS,
                )
        except (httpx.HTTPError, TimeoutError):
            return False
        return health.status_code == httpx.codes.OK and greeting.status_code == httpx.codes.NOT_FOUND

    async def hand_over(self, key: str, known: Sequence[str], seconds: float) -> HandOver:
        """Makes the agent server and this client use the session key `key`, for `seconds`. Tries the old keys
        `known` in order. Returns "taken", "refused" (none is valid) or "absent" (no usable reply).
        """
        # Some other process may have taken the port: only our own agent server knows one of them.
        body = {"session_api_key": key, "expires_in_seconds": seconds}
        for shown in known:
            try:
                reply = await self._http.post(
                    f"{self.url}/api/session_key",
                    headers={**self.passage, API_KEY_HEADER: shown},
                    json=body,
                    timeout=HEALTH_TIMEOUT_SECONDS,
                )
            except httpx.HTTPError:
                return "absent"
            if reply.is_success:
                self._headers[API_KEY_HEADER] = key
                return "taken"
            if reply.status_code != httpx.codes.UNAUTHORIZED:
                return "absent"
        return "refused"

    async def create_conversation(self, request: StartConversationRequest) -> ConversationInfo:
        """Returns the conversation with the id in `request`. Creates it if it does not exist."""
        reply = await self._call("POST", "/api/conversations", json=to_json(request))
        return parse(ConversationInfo, reply)

    async def get_conversation(self, conversation_id: UUID) -> ConversationInfo:
        return parse(ConversationInfo, await self._call("GET", f"/api/conversations/{conversation_id}"))

    async def delete_conversation(self, conversation_id: UUID) -> None:
        await self._call("DELETE", f"/api/conversations/{conversation_id}")

    async def send_message(self, conversation_id: UUID, message: SendMessageRequest) -> None:
        """Sends a message to the conversation. A second message with the same id is ignored. Raises NoAnswer
        if it is unknown whether the message arrived.
        """
        route = f"/api/conversations/{conversation_id}/events"
        await self._call("POST", route, json=to_json(message), timeout_seconds=SEND_TIMEOUT_SECONDS)

    async def log_position(self, conversation_id: UUID) -> int:
        """Returns the position (`seq`) of the last event in the agent server's log of this conversation."""
        reply = await self._call("GET", f"/api/conversations/{conversation_id}/log")
        return parse(LogPosition, reply).last_seq

    async def catch_up(self, conversation_id: UUID, missing: CatchUpRequest) -> None:
        """Adds the events in `missing` to the agent server's log. Raises Conflict: `log_gap` if the log also
        lacks earlier events, `log_differs` if the log has other events, `already_running` if the agent works.
        """
        route = f"/api/conversations/{conversation_id}/log/catch_up"
        await self._call("POST", route, json=missing.model_dump(mode="json"))

    async def events(self, conversation_id: UUID, page_id: str | None = None) -> EventPage:
        """Returns a page of the conversation's events, oldest first. page_id: the `next_page_id` of the
        previous page; None for the first page.
        """
        route = f"/api/conversations/{conversation_id}/events/search"
        return parse(EventPage, await self._call("GET", route, params=to_params(page_id=page_id)))

    async def skills(self, conversation_id: UUID) -> SkillsResponse:
        """Returns the skills that the agent got when the conversation began, and why it got each skill."""
        return parse(SkillsResponse, await self._call("GET", f"/api/conversations/{conversation_id}/skills"))

    async def run(self, conversation_id: UUID) -> None:
        """Makes the agent work on the conversation. Raises Conflict if the agent is already working."""
        await self._call("POST", f"/api/conversations/{conversation_id}/run")

    async def pause(self, conversation_id: UUID) -> None:
        await self._call("POST", f"/api/conversations/{conversation_id}/pause")

    async def interrupt(self, conversation_id: UUID) -> None:
        await self._call("POST", f"/api/conversations/{conversation_id}/interrupt")

    async def respond_to_confirmation(
        self, conversation_id: UUID, answer: ConfirmationResponseRequest
    ) -> None:
        """Sends the user's decision about the actions that wait for approval. Raises Conflict:
        `nothing_to_confirm` if no action waits, `confirmation_outdated` if `answer` is for earlier actions.
        """
        route = f"/api/conversations/{conversation_id}/events/respond_to_confirmation"
        await self._call("POST", route, json=to_json(answer))

    async def answer_mcp_change(self, conversation_id: UUID, answer: McpChangeAnswer) -> None:
        """Sends the user's decision on a changed MCP tool. Raises Conflict `mcp_change_outdated` if the tool
        has changed again since the user saw the change.
        """
        route = f"/api/conversations/{conversation_id}/mcp/answer_change"
        await self._call("POST", route, json=to_json(answer))

    async def answer_mcp_question(self, conversation_id: UUID, answer: McpQuestionAnswer) -> None:
        """Sends the user's answer to a question of an MCP server. Raises Conflict `mcp_question_closed` if
        the question has ended, BadRequest `mcp_answer_invalid` if the answer does not fit the form.
        """
        route = f"/api/conversations/{conversation_id}/mcp/answer_question"
        await self._call("POST", route, json=to_json(answer))

    async def set_safeguards(
        self, conversation_id: UUID, *, policy: dict[str, Any], analyzer: dict[str, Any] | None
    ) -> None:
        """Sets the approval rule `policy` and the risk analyzer `analyzer` (None means no analyzer)."""
        route = f"/api/conversations/{conversation_id}"
        await self._call("POST", f"{route}/security_analyzer", json={"security_analyzer": analyzer})
        await self._call("POST", f"{route}/confirmation_policy", json={"policy": policy})

    async def set_title(self, conversation_id: UUID, title: str) -> None:
        """Sets the conversation's title. The agent server also writes the title to the event log."""
        await self._call("PATCH", f"/api/conversations/{conversation_id}", json={"title": title})

    async def set_budget(self, conversation_id: UUID, dollars: float | None) -> None:
        """Sets the maximum total cost of the conversation in dollars. None means no limit."""
        changes = {"max_budget_per_task": dollars}
        await self._call("PATCH", f"/api/conversations/{conversation_id}", json=changes)

    async def start_goal(self, conversation_id: UUID, goal: StartGoalRequest) -> None:
        """Gives the agent a goal. Raises Conflict `already_running` if the agent is already working."""
        await self._call("POST", f"/api/conversations/{conversation_id}/goal", json=to_json(goal))

    async def stop_goal(self, conversation_id: UUID) -> None:
        await self._call("POST", f"/api/conversations/{conversation_id}/goal/stop")

    async def resume_goal(self, conversation_id: UUID) -> None:
        """Continues the work on the conversation's goal, which was stopped before it was reached. Raises
        Conflict: `already_running` if the agent is working, `no_resumable_goal` if no goal was stopped.
        """
        try:
            await self._call("POST", f"/api/conversations/{conversation_id}/goal/resume")
        except BadGateway as refusal:
            if refusal.extra.get("agent_server_code") != "no_resumable_goal":
                raise
            raise Conflict("There is no goal that can be resumed.", code="no_resumable_goal") from refusal

    async def checkpoints(self, conversation_id: UUID) -> CheckpointList:
        route = f"/api/conversations/{conversation_id}/checkpoints"
        return parse(CheckpointList, await self._call("GET", route))

    async def diff_checkpoint(self, conversation_id: UUID, checkpoint_id: int) -> CheckpointDiff:
        """Returns how the conversation's files differ from a checkpoint. Raises NotFound if there is no such
        checkpoint, Conflict `checkpoints_unavailable` if the current files cannot be saved.
        """
        route = f"/api/conversations/{conversation_id}/checkpoints/{checkpoint_id}/diff"
        reply = await self._call("GET", route, timeout_seconds=SNAPSHOT_TIMEOUT_SECONDS)
        return parse(CheckpointDiff, reply)

    async def rewind(self, conversation_id: UUID, checkpoint_id: int, wanted: RewindRequest) -> RewindResult:
        """Resets the conversation's files, its chat or both to a checkpoint, and returns the changes. Raises
        NotFound if there is no such checkpoint, Conflict `edited_since` if files were edited by others.
        """
        route = f"/api/conversations/{conversation_id}/checkpoints/{checkpoint_id}/rewind"
        reply = await self._call(
            "POST", route, json=to_json(wanted), timeout_seconds=SNAPSHOT_TIMEOUT_SECONDS
        )
        return parse(RewindResult, reply)

    async def condense(self, conversation_id: UUID) -> None:
        """Replaces older events by a summary in the text that the agent sends to its model. Raises Conflict:
        `no_condenser` if the agent makes no summaries, `nothing_to_condense` if no events can be replaced.
        """
        route = f"/api/conversations/{conversation_id}/condense"
        await self._call("POST", route, timeout_seconds=CONDENSE_TIMEOUT_SECONDS)

    async def switch_llm(self, conversation_id: UUID, llm: dict[str, Any]) -> None:
        """Makes the agent use another language model from its next call on. `llm`: the model's settings."""
        body = to_json(SwitchLLMRequest(llm=llm))
        await self._call("POST", f"/api/conversations/{conversation_id}/switch_llm", json=body)

    async def browser(self, conversation_id: UUID) -> BrowserView:
        """Returns the open tabs of the agent's browser and a picture of its current page."""
        reply = await self._call("GET", f"/api/conversations/{conversation_id}/browser")
        return parse(BrowserView, reply)

    async def runtime_plugins(self) -> list[RuntimePluginInfo]:
        """Returns the plugins (such as VS Code) that run in the sandbox or can be started there."""
        return parse(RuntimePluginList, await self._call("GET", "/api/runtime-plugins")).items

    async def start_runtime_plugin(self, name: str) -> RuntimePluginInfo:
        """Starts a runtime plugin (such as VS Code) and returns its description when the plugin answers.
        Raises NotFound if there is no such plugin, Unavailable if it is not available or does not start. The
        error `runtime_plugin_failed` contains the plugin's output in the field `output`.
        """
        route = f"/api/runtime-plugins/{quote(name, safe='')}/start"
        reply = await self._call("POST", route, timeout_seconds=PLUGIN_TIMEOUT_SECONDS)
        return parse(RuntimePluginInfo, reply)

    async def usable_tools(self) -> frozenset[str]:
        """Returns the names of those tools of the agent that can work in this sandbox."""
        return frozenset(parse(AgentServerInfo, await self._call("GET", "/server_info")).usable_tools)

    async def ports(self) -> list[ListeningPort]:
        """Returns the network ports on which processes of the sandbox listen at present."""
        return parse(PortsResponse, await self._call("GET", "/api/ports")).ports

    async def execute_command(
        self, command: str, *, cwd: str | None = None, timeout_seconds: int = 300
    ) -> BashOutput:
        """Runs a shell command in the sandbox and returns its output when the command has ended. An
        `exit_code` of -1 means that the command was killed at its timeout.
        """
        request = ExecuteBashRequest(command=command, cwd=cwd, timeout=timeout_seconds)
        reply = await self._call(
            "POST",
            "/api/bash/execute_bash_command",
            json=to_json(request),
            timeout_seconds=timeout_seconds + TIMEOUT_SECONDS,
        )
        return parse(BashOutput, reply)

    async def start_command(self, command: str, *, cwd: str | None, timeout_seconds: int) -> UUID:
        """Starts a shell command in the sandbox and returns the command's id, with which `command_output`
        reads the output. `cwd`: the directory in which the command runs.
        """
        request = ExecuteBashRequest(command=command, cwd=cwd, timeout=timeout_seconds)
        reply = await self._call("POST", "/api/bash/start_bash_command", json=to_json(request))
        return UUID(parse(BashCommand, reply).id)

    async def find_running(self, command: str, *, cwd: str) -> UUID | None:
        """Returns the id of the running command with this text and working directory; None if none runs."""
        newest_first = {"sort_order": "TIMESTAMP_DESC"}
        params = {"kind__eq": "BashCommand", **newest_first}
        reply = await self._call("GET", _BASH_EVENTS, params=params)
        begun = parse(BashCommands, reply).items
        same = next((each for each in begun if (each.command, each.cwd) == (command, cwd)), None)
        if same is None:
            return None
        params = {"kind__eq": "BashOutput", "command_id__eq": same.id, "limit": "1", **newest_first}
        last = parse(BashOutputs, await self._call("GET", _BASH_EVENTS, params=params)).items
        return None if last and last[0].exit_code is not None else UUID(same.id)

    async def command_output(self, command_id: UUID, *, after_order: int) -> list[BashOutput]:
        """Returns the pieces of the command's output after the piece with the number `after_order`. Only the
        last piece of the whole output has an `exit_code`.
        """
        params = {"kind__eq": "BashOutput", "command_id__eq": command_id.hex, "order__gt": str(after_order)}
        reply = await self._call("GET", _BASH_EVENTS, params=params)
        return parse(BashOutputs, reply).items

    async def stop_command(self, command_id: UUID) -> None:
        await self._call("POST", f"/api/bash/bash_commands/{command_id.hex}/stop")

    async def executables(self, directory: str) -> list[ProjectExecutable]:
        """Returns the hooks, MCP servers … of the project in `directory` that need the user's consent."""
        body = {"project_dir": directory}
        reply = await self._call("POST", "/api/offers", json=body, timeout_seconds=FIND_TIMEOUT_SECONDS)
        return parse(ExecutablesResponse, reply).offers

    async def executables_of(
        self, conversation_id: UUID, directory: str | None = None
    ) -> ExecutablesResponse:
        """Returns the project executables of a project: hooks, MCP servers and other programs that run only
        if the user allows it. The reply also says which of them the user has allowed in this conversation.
        `directory`: an additional repository of the conversation; None for the project where the agent works.
        """
        route, params = f"/api/conversations/{conversation_id}/offers", to_params(project_dir=directory)
        reply = await self._call("GET", route, params=params, timeout_seconds=FIND_TIMEOUT_SECONDS)
        return parse(ExecutablesResponse, reply)

    async def consent(
        self, conversation_id: UUID, hashes: Sequence[str], directory: str | None = None
    ) -> None:
        """Informs the agent server that the user allows the project executables with these hashes to run in
        the conversation. `directory`: an additional repository with the executables; None for the project
        where the agent works. Raises Conflict `offer_changed` if an executable has changed.
        """
        body = {"hashes": list(hashes), "project_dir": directory}
        await self._call("POST", f"/api/conversations/{conversation_id}/consent", json=body)

    async def git_changes(self, path: str, ref: str | None = None) -> list[GitChange]:
        reply = await self._call("GET", "/api/git/changes", params=to_params(path=path, ref=ref))
        return parse(list[GitChange], reply)

    async def git_diff(self, path: str, ref: str | None = None) -> GitDiff:
        reply = await self._call("GET", "/api/git/diff", params=to_params(path=path, ref=ref))
        return parse(GitDiff, reply)

    async def set_git_remotes(self, remotes: GitRemotes) -> None:
        """Sets which repositories git commands in the sandbox can reach through the app server."""
        await self._call("PUT", "/api/git/remotes", json=remotes.model_dump(mode="json"))

    async def git_patch(self, path: str, base_ref: str | None = None) -> bytes:
        """Returns the changes in the working tree of the git repository at `path` as one unified diff.
        `base_ref`: the commit, branch or tag to compare with; None means where the branch forked from its
        upstream or the default branch. Raises BadGateway if the diff is larger than MAX_PATCH_BYTES.
        """
        params = to_params(path=path, format="git-delta", base_ref=base_ref)
        patch = bytearray()
        async with self._stream("/api/file/archive", params) as reply:
            async for piece in reply.aiter_bytes():
                patch += piece
                if len(patch) > MAX_PATCH_BYTES:
                    raise BadGateway("The change is too large for a patch.", code="agent_server_error")
        return bytes(patch)
