"""Implements OpenAI's Responses API. An agent answers in place of a model.

A request with `previous_response_id` continues the conversation to which the response with this id belongs.
"""

import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from agent_runtime.server.conversations.openai_facade import (
    FacadeAnswer,
    SplitRequest,
    answer_to,
    begin,
    parse_id,
)
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.dependencies import Conversations
from agent_runtime.server.routers.openai.chat_completions import (
    CONVERSATION_HEADER,
    ChatMessage,
    ContentPart,
    event,
    split_messages,
)
from agent_runtime.server.routers.router import Router
from agent_runtime.server.saved.secret_exposure import Saved

router = Router(prefix="/v1", tags=["OpenAI"])


class InputMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart]


class ResponseRequest(BaseModel):
    """The request body of POST /v1/responses. All other parameters of OpenAI's API are ignored."""

    model: str
    input: str | list[InputMessage]
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool = False
    stream: bool = False
    metadata: dict[str, str] | None = None


class StoredResponse(BaseModel):
    """The reply of GET /v1/responses/{id}: an earlier response. `model` is empty, and the field `usage` is
    missing, because these values are not stored.
    """

    id: str
    object: Literal["response"] = "response"
    created_at: float
    status: Literal["completed"] = "completed"
    model: str = ""
    output: list[dict[str, Any]]
    parallel_tool_calls: bool = False
    tool_choice: str = "none"
    tools: list[dict[str, Any]] = []


@router.post("/responses", response_model=None)
async def respond(
    wanted: ResponseRequest, request: Request, registry: Conversations, encrypted_settings: Saved
) -> Response:
    """Sends the last message of the request to an agent and returns the agent's answer, as one reply or as a
    stream.
    """
    asked = _split_request(wanted)
    if wanted.previous_response_id is None:
        working_dir = str(request.app.state.config.workspace_path)
        conversation_id = begin(registry, encrypted_settings.saved, wanted.model, working_dir, asked).id
    else:
        conversation_id = parse_id(wanted.previous_response_id.removeprefix("resp_").partition("_")[0])
    stack = ExitStack()
    with stack:
        conversation = stack.enter_context(registry.using(conversation_id))
        answer = FacadeAnswer(conversation, asked.last)
        headers = {CONVERSATION_HEADER: str(conversation.id)}
        draft = _Draft(wanted, answer)
        if not wanted.stream:
            return JSONResponse(draft.completed(await answer.text()), headers=headers)
        resources = stack.pop_all()
    return StreamingResponse(
        _events(draft, answer, resources), media_type="text/event-stream", headers=headers
    )


@router.get("/responses/{response_id}")
async def response(response_id: str, registry: Conversations) -> StoredResponse:
    """Returns an earlier response by its id. Replies with 404 if the id is unknown or the agent has not
    answered yet.
    """
    conversation, _, question = response_id.removeprefix("resp_").partition("_")
    with registry.reading(parse_id(conversation)) as log:
        asked = log.get(str(parse_id(question)))
        text = None if asked is None else answer_to(log, asked.id)
    if asked is None or text is None:
        raise ServerProblem(404, "response_not_found", f"There is no response {response_id[:128]}.")
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": f"msg_{question}", "type": "message", "role": "assistant", "status": "completed"}
    created = datetime.fromisoformat(asked.timestamp).timestamp()
    return StoredResponse(id=response_id, created_at=created, output=[{**item, "content": [part]}])


class _Draft:
    """Builds the JSON of a response of OpenAI's Responses API, for one request. There is one method for each
    state of the response: `begun`, `failed` and `completed`.
    """

    def __init__(self, wanted: ResponseRequest, answer: FacadeAnswer) -> None:
        self._answer = answer
        self.item_id = f"msg_{uuid4().hex}"
        self._fields: dict[str, Any] = {
            "id": f"resp_{answer.conversation.id.hex}_{answer.question_id.replace('-', '')}",
            "object": "response",
            "created_at": time.time(),
            "instructions": wanted.instructions,
            "metadata": wanted.metadata,
            "model": wanted.model,
            "parallel_tool_calls": False,
            "previous_response_id": wanted.previous_response_id,
            "tool_choice": "none",
            "tools": [],
            "error": None,
        }

    def begun(self) -> dict[str, Any]:
        return {**self._fields, "status": "in_progress", "output": [], "usage": None}

    def failed(self, problem: ServerProblem) -> dict[str, Any]:
        error = {"code": "server_error", "message": f"{problem.code}: {problem.detail}"}
        return {**self.begun(), "status": "failed", "error": error}

    def completed(self, text: str) -> dict[str, Any]:
        used = self._answer.usage
        usage = {
            "input_tokens": used.input_tokens,
            "input_tokens_details": {"cached_tokens": used.cached_tokens},
            "output_tokens": used.output_tokens,
            "output_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
            "total_tokens": used.input_tokens + used.output_tokens,
        }
        finished = {"completed_at": time.time(), "status": "completed", "usage": usage}
        return {**self._fields, **finished, "output": [self.message([self.part(text)], "completed")]}

    def message(self, content: list[dict[str, Any]], status: str) -> dict[str, Any]:
        head = {"id": self.item_id, "type": "message", "role": "assistant"}
        return {**head, "content": content, "status": status}

    def part(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": []}


async def _events(draft: _Draft, answer: FacadeAnswer, resources: ExitStack) -> AsyncIterator[bytes]:
    number = 0

    def sent(name: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": name, "sequence_number": number - 1, **fields}, name)

    with resources:
        yield sent("response.created", response=draft.begun())
        async for _ in answer.thoughts():
            yield b": at work\n\n"
        try:
            text = await answer.text()
        except ServerProblem as problem:
            yield sent("response.failed", response=draft.failed(problem))
            return
        item: dict[str, Any] = {"output_index": 0}
        part: dict[str, Any] = {**item, "item_id": draft.item_id, "content_index": 0}
        yield sent("response.output_item.added", item=draft.message([], "in_progress"), **item)
        yield sent("response.content_part.added", part=draft.part(""), **part)
        yield sent("response.output_text.delta", delta=text, logprobs=[], **part)
        yield sent("response.output_text.done", text=text, logprobs=[], **part)
        yield sent("response.content_part.done", part=draft.part(text), **part)
        yield sent("response.output_item.done", item=draft.message([draft.part(text)], "completed"), **item)
        yield sent("response.completed", response=draft.completed(text))


def _split_request(wanted: ResponseRequest) -> SplitRequest:
    if isinstance(wanted.input, str):
        messages = [ChatMessage(role="user", content=wanted.input)]
    else:
        messages = [ChatMessage(role=one.role, content=one.content) for one in wanted.input]
    if wanted.instructions:
        messages.insert(0, ChatMessage(role="system", content=wanted.instructions))
    return split_messages(messages)
