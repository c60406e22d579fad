"""Contains tools that a client of the agent server runs. Each tool call becomes an event in the conversation.
The client reads the event and performs the call.

If the tool is declared with `awaits_answer`, the agent waits, and the client's result is the result of the
call. Otherwise the agent continues at once with a fixed result. The client may then send its result later as
a message in the conversation.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import seconds_since
from agent_runtime.events.content import TextContent
from agent_runtime.time_limits import time_limit
from agent_runtime.tools.claims import NOTHING, Claim
from agent_runtime.tools.effects import Effect
from agent_runtime.tools.external.schema_tool import DescribedTool
from agent_runtime.tools.tool import Action, OwnObservation, ToolAnnotations, hinted

_NO_ANSWER = "The client did not answer within {seconds:g} seconds. It may still act on the call."


class ClientToolSpec(BaseModel):
    """The description of a tool that a client of the agent server runs, as the client sends it. `parameters`:
    a JSON Schema of an object.

    `awaits_answer`: whether the agent waits for the client's result. If not, the call gets a fixed result at
    once, because the protocol (that of OpenHands) requires a result for each call.
    `answer_timeout_seconds`: how long the agent waits for the client's result.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = Field(min_length=1, max_length=8_000)
    parameters: dict[str, Any] = {}
    annotations: ToolAnnotations | None = None
    awaits_answer: bool = False
    answer_timeout_seconds: float = Field(default=3_600.0, gt=0, le=7 * 24 * 3_600)


class ClientAction(Action):
    model_config = ConfigDict(frozen=True, extra="allow")


class ClientToolObservation(OwnObservation):
    pass


class ClientTool(DescribedTool[ClientAction]):
    """A tool that the client of the agent server runs. The agent server only informs the client of each call.

    If the tool does not wait for an answer, a call gets a fixed result at once. Otherwise the call waits
    until the client sends its result (`deliver`). If no result arrives within the time limit, the call fails.
    """

    observation_type = ClientToolObservation

    def __init__(self, spec: ClientToolSpec) -> None:
        self.name = self.title = spec.name
        self.annotations = spec.annotations or ToolAnnotations()
        self.input_schema = {"type": "object", **spec.parameters}
        self.action_type = create_model(f"ClientAction_{spec.name}", __base__=ClientAction)
        self._description = spec.description
        self.awaits_answer = spec.awaits_answer
        self._patience_seconds = spec.answer_timeout_seconds
        self._waiting: dict[str, asyncio.Future[ClientToolObservation]] = {}

    @property
    def description(self) -> str:
        return self._description

    def reported(self) -> Mapping[str, object]:
        return {"client_tool_name": self.name, "input_schema": self.input_schema}

    def parse(self, arguments: Mapping[str, JsonValue]) -> ClientAction:
        self.check(arguments)
        return self.action_type.model_validate(arguments)

    def claims(self, action: ClientAction) -> Sequence[Claim]:
        del action
        return NOTHING

    def effects(self, action: ClientAction) -> Sequence[Effect]:
        """Returns the effects that the call has according to the annotations (hints such as "only reads") in
        the client's description of the tool.
        """
        del action
        return hinted(self.annotations)

    @property
    def is_repeatable(self) -> bool:
        """Whether a call that a crash has interrupted can be repeated. This is the case if the tool waits for
        the client's result, because the repeated call only continues to wait.
        """
        return self.awaits_answer or super().is_repeatable

    def deliver(self, action_id: str, answer: ClientToolObservation) -> None:
        """Passes the client's result to the call that waits for this result. The result may arrive before the
        call begins to wait. `action_id`: the id of the event of the call.
        """
        waiting = self._waiting_of(action_id)
        if not waiting.done():
            waiting.set_result(answer)

    async def handle(self, event: ActionEvent) -> ClientToolObservation:
        if not self.awaits_answer:
            return await self.run(self.action_type.of(event))
        try:
            async with time_limit(self._patience_seconds - seconds_since(event.timestamp)):
                return await self._waiting_of(event.id)
        except TimeoutError:
            return ClientToolObservation(
                content=[TextContent(text=_NO_ANSWER.format(seconds=self._patience_seconds))], is_error=True
            )
        finally:
            self._waiting.pop(event.id, None)

    def _waiting_of(self, action_id: str) -> "asyncio.Future[ClientToolObservation]":
        return self._waiting.setdefault(action_id, asyncio.get_running_loop().create_future())

    async def run(self, action: ClientAction) -> ClientToolObservation:
        del action  # the client sees it in the log
        return ClientToolObservation(content=[TextContent(text="Tool call dispatched to client.")])
