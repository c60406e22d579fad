"""Connects a Conversation to the engine that runs its agent on an agent server."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Self
from uuid import UUID

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from agent_runtime.agent.agent import Agent
from agent_runtime.client.agent_data import Switch, wanted_switch
from agent_runtime.client.errors import DisconnectedError
from agent_runtime.client.http import CONNECT_SECONDS, headers, persist
from agent_runtime.client.link import LinkLostError
from agent_runtime.conversation.model_switch import with_llm
from agent_runtime.conversation.unmasked_keys import revealed
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
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

CLOSED_FOR_GOOD = {4001: "The agent server does not accept this key.", 4004: "The conversation was deleted."}
MAX_FRAME_BYTES = 64 * 1024 * 1024
# The skills are a part of the agent that `wanted_switch` compares.
_WITH_SKILLS = "?include_skills=true"


class OnServer:
    """The link between a Conversation and a conversation on an agent server, over REST and one WebSocket.
    When the link is closed, the conversation stays on the server.
    """

    def __init__(
        self,
        conversation_id: UUID,
        agent: Agent,
        request: StartConversationRequest,
        *,
        host: str,
        api_key: str | None,
        patience_seconds: float,
    ) -> None:
        self.id = conversation_id
        self.patience_seconds = patience_seconds
        self._agent = agent
        self._request = request.model_copy(update={"conversation_id": conversation_id})
        self._host = host
        self._api_key = api_key
        self._is_new = True

    async def open(self) -> None:
        # No limit for the reply: a model may take long to answer a question.
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        self._http = httpx.AsyncClient(base_url=self._host, headers=headers(self._api_key), timeout=timeout)
        try:
            await self._present()
        except BaseException:
            await self._http.aclose()
            raise

    async def close(self) -> None:
        await self._http.aclose()

    async def frames(self, after_seq: int) -> AsyncGenerator[bytes | str, None]:
        if not self._is_new:
            # A restarted server has our conversation but not our keys. If the conversation does not exist any
            # more, no new one may be created, so this is checked first.
            await self.info()
            await self._present()
        self._is_new = False
        url = f"{self._host.replace('http', 'ws', 1)}/sockets/session/{self.id}?after_seq={after_seq}"
        try:
            async with connect(
                url,
                additional_headers=headers(self._api_key),
                max_size=MAX_FRAME_BYTES,
                open_timeout=CONNECT_SECONDS,
            ) as socket:
                while True:
                    yield await socket.recv()
        except (OSError, InvalidHandshake, TimeoutError) as error:
            raise LinkLostError(str(error)) from error
        except ConnectionClosed as error:
            code = error.rcvd.code if error.rcvd else None
            if code in CLOSED_FOR_GOOD:
                raise DisconnectedError("disconnected", CLOSED_FOR_GOOD[code]) from error
            raise LinkLostError(str(error)) from error

    async def info(self) -> ConversationInfo:
        return ConversationInfo.model_validate_json((await self._get(_WITH_SKILLS)).content)

    async def last_seq(self) -> int:
        # Positions have no gaps.
        return int((await self._get("/events/count")).json())

    async def send(self, message: SendMessageRequest) -> None:
        await self._post("/events", message.model_dump(mode="json"), is_repeatable=message.id is not None)

    async def start(self) -> None:
        await self._post("/run")

    async def pause(self) -> None:
        await self._post("/pause")

    async def interrupt(self) -> None:
        await self._post("/interrupt")

    async def condense(self) -> None:
        await self._post("/condense", is_repeatable=False)

    async def ask(self, question: str) -> str:
        return str((await self._post("/ask_agent", {"question": question})).json()["response"])

    async def navigate(self, event_id: str | None) -> None:
        await self._post("/navigate", {"event_id": event_id})

    async def checkpoints(self) -> CheckpointList:
        return CheckpointList.model_validate_json((await self._get("/checkpoints")).content)

    async def diff_checkpoint(self, number: int) -> CheckpointDiff:
        reply = await self._get(f"/checkpoints/{number}/diff")
        return CheckpointDiff.model_validate_json(reply.content)

    async def rewind(self, number: int, wanted: RewindRequest) -> RewindResult:
        route = f"/checkpoints/{number}/rewind"
        reply = await self._post(route, wanted.model_dump(mode="json"), is_repeatable=False)
        return RewindResult.model_validate_json(reply.content)

    async def update(self, *, title: str | None, tags: dict[str, str] | None) -> None:
        given = {"title": title, "tags": tags}
        await self._call("PATCH", self._path, json={k: v for k, v in given.items() if v is not None})

    async def fork(self, wanted: ForkRequest) -> Self:
        assert wanted.id is not None
        await self._post("/fork", wanted.model_dump(mode="json"), is_repeatable=False)
        return type(self)(
            wanted.id,
            self._agent,
            self._request,
            host=self._host,
            api_key=self._api_key,
            patience_seconds=self.patience_seconds,
        )

    async def switch_llm(self, llm: LLM) -> None:
        await self._switch(Switch(llm, None))

    async def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None:
        await self._post("/secrets", {"secrets": dict(secrets)})
        self._change_request({"secrets": {**self._request.secrets, **secrets}})

    async def set_confirmation_policy(self, policy: JsonObject) -> None:
        await self._post("/confirmation_policy", {"policy": policy})

    async def set_security_analyzer(self, analyzer: JsonObject | None) -> None:
        await self._post("/security_analyzer", {"security_analyzer": analyzer})

    async def load_plugin(self, plugin_ref: str) -> None:
        await self._post("/load_plugin", {"plugin_ref": plugin_ref})

    async def consent(self, hashes: Sequence[str]) -> None:
        await self._post("/consent", {"hashes": list(hashes)})

    async def pursue_goal(self, wanted: StartGoalRequest) -> None:
        await self._post("/goal", wanted.model_dump(mode="json"), is_repeatable=False)

    async def stop_goal(self) -> None:
        await self._post("/goal/stop")

    async def resume_goal(self) -> None:
        await self._post("/goal/resume", is_repeatable=False)

    async def answer_client_tool(self, answer: ClientToolAnswer) -> None:
        await self._post("/events/answer_client_tool", answer.model_dump(mode="json"))

    async def reject(self, reason: str) -> None:
        await self._post("/events/respond_to_confirmation", {"accept": False, "reason": reason})

    async def final_response(self) -> str:
        return str((await self._get("/agent_final_response")).json()["response"])

    @property
    def _path(self) -> str:
        return f"/api/conversations/{self.id}"

    async def _present(self) -> None:
        """Sends the request that creates the conversation to the agent server. If the conversation exists
        already, the request does not change it. In this case, the method then sends the models of this
        program if they differ, and the program's secrets. The secrets are sent because a restart of the
        server may have removed them from its memory.
        """
        body = self._request.model_dump(mode="json")
        reply = await self._call("POST", f"/api/conversations{_WITH_SKILLS}", json=body)
        if reply.status_code != httpx.codes.OK:
            return
        # A conversation that existed before may have another model, and may have lost its secrets.
        switch = wanted_switch(reply.json()["agent"], self._agent)
        if switch is not None:
            await self._switch(switch)
        if self._request.secrets:
            await self.update_secrets(self._request.secrets)

    async def _switch(self, switch: Switch) -> None:
        body = {name: revealed(llm) for name, llm in switch._asdict().items() if llm is not None}
        await self._post("/switch_llm", body)
        self._agent = with_llm(self._agent, *switch)
        self._change_request({"agent": revealed(self._agent)})

    def _change_request(self, update: JsonObject) -> None:
        """Changes fields of the stored request with which this link creates the conversation. Sends nothing.
        The link sends the stored request again after a restart of the server, so it must contain the current
        models and secrets. `update`: the new values by field name.
        """
        self._request = self._request.model_copy(update=update)

    async def _get(self, below: str) -> httpx.Response:
        return await self._call("GET", self._path + below)

    async def _post(self, below: str, body: Any = None, *, is_repeatable: bool = True) -> httpx.Response:
        return await self._call("POST", self._path + below, json=body, is_repeatable=is_repeatable)

    async def _call(
        self, method: str, path: str, *, json: Any = None, is_repeatable: bool = True
    ) -> httpx.Response:
        return await persist(
            lambda: self._http.request(method, path, json=json),
            host=self._host,
            patience_seconds=self.patience_seconds,
            is_repeatable=is_repeatable,
        )
