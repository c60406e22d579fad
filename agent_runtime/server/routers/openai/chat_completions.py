"""Implements OpenAI's chat completions API. An agent answers in place of a model. The field `model` of a
request is the name of one of the user's model profiles (saved model settings with a name). A header of the
request contains the conversation's id; without this header, a new conversation is created.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import orjson
from fastapi import Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.events.message import Message
from agent_runtime.server.conversations.openai_facade import (
    FacadeAnswer,
    SplitRequest,
    begin,
    require_model,
    text_of,
)
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.routers.dependencies import Conversations
from agent_runtime.server.routers.router import Router
from agent_runtime.server.saved.secret_exposure import Saved

router = Router(prefix="/v1", tags=["OpenAI"])

CONVERSATION_HEADER = "X-OpenHands-ServerConversation-ID"
ConversationId = Annotated[UUID | None, Header(alias=CONVERSATION_HEADER)]


class ImageUrl(BaseModel):
    url: str


class ContentPart(BaseModel):
    """One part of a message in a request. `image_url` is a text in the Responses API and an object in chat
    completions.
    """

    type: str
    text: str | None = None
    image_url: ImageUrl | str | None = None


class ChatMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The request body of POST /v1/chat/completions. All other parameters of OpenAI's API are ignored,
    because the model profile (saved model settings with a name) sets them.
    """

    model: str
    messages: list[ChatMessage]
    stream: bool = False
    stream_options: StreamOptions | None = None


class ModelEntry(BaseModel):
    id: str
    created: int
    object: Literal["model"] = "model"
    owned_by: str


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelEntry]


@router.get("/models")
async def models(request: Request, encrypted_settings: Saved) -> ModelList:
    return ModelList(data=[_entry(name, request) for name in sorted(encrypted_settings.saved.profiles)])


@router.get("/models/{model}")
async def model(model: str, request: Request, encrypted_settings: Saved) -> ModelEntry:
    require_model(encrypted_settings.saved, model)
    return _entry(model, request)


@router.post("/chat/completions", response_model=None)
async def complete(
    wanted: ChatRequest,
    request: Request,
    registry: Conversations,
    encrypted_settings: Saved,
    conversation_id: ConversationId = None,
) -> Response:
    """Sends the last message of the request to an agent and returns the agent's answer.

    If the client asks for a stream, the stream contains the text that the model writes while the agent works,
    as `reasoning_content`, and then the agent's answer.
    """
    asked = split_messages(wanted.messages)
    if conversation_id is None:
        working_dir = str(request.app.state.config.workspace_path)
        conversation_id = begin(registry, encrypted_settings.saved, wanted.model, working_dir, asked).id
    stack = ExitStack()
    with stack:
        conversation = stack.enter_context(registry.using(conversation_id))
        answer = FacadeAnswer(conversation, asked.last)
        headers = {CONVERSATION_HEADER: str(conversation.id)}
        if not wanted.stream:
            return JSONResponse(_completion(answer, wanted.model, await answer.text()), headers=headers)
        resources = stack.pop_all()
    return StreamingResponse(
        _chunks(answer, wanted, resources), media_type="text/event-stream", headers=headers
    )


def split_messages(messages: Sequence[ChatMessage]) -> SplitRequest:
    """Splits the messages of a request into instructions, earlier messages and the last message. Raises
    ServerProblem 422 if the last message is not from the user.
    """
    said = [message for message in messages if message.role in {"user", "assistant"}]
    if not said or said[-1].role != "user" or not contents(said[-1].content):
        raise ServerProblem(
            422, "validation_failed", "messages: the last one must be the user's, with content."
        )
    system = [contents(one.content) for one in messages if one.role in {"system", "developer"}]
    history = [Message(role=one.role, content=contents(one.content)) for one in said[:-1]]
    return SplitRequest("\n\n".join(text_of(one) for one in system), history, contents(said[-1].content))


def contents(given: str | Sequence[ContentPart] | None) -> list[Content]:
    """Converts the content of a message to texts and images. `given`: a text, a list of parts, or None for no
    content. Raises ServerProblem 422 if a part is neither a text nor an image.
    """
    if given is None or isinstance(given, str):
        return [TextContent(text=given)] if given else []
    return [_content(part) for part in given]


def event(data: dict[str, Any], name: str | None = None) -> bytes:
    """Encodes `data` as JSON in a server-sent event (a message of an HTTP stream). `name`: the name of the
    event; None means that it has no name.
    """
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: " + orjson.dumps(data) + b"\n\n"


def _entry(name: str, request: Request) -> ModelEntry:
    since = int(time.time() - (time.monotonic() - request.app.state.started_at))
    return ModelEntry(id=name, created=since, owned_by="slipway")


def _content(part: ContentPart) -> Content:
    if part.type in {"text", "input_text", "output_text"} and part.text is not None:
        return TextContent(text=part.text)
    if part.type in {"image_url", "input_image"} and part.image_url is not None:
        url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
        return ImageContent(image_urls=[url])
    raise ServerProblem(
        422, "validation_failed", f"content: parts of type {part.type[:64]} are not understood."
    )


def _completion(answer: FacadeAnswer, model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": _usage(answer),
    }


def _usage(answer: FacadeAnswer) -> dict[str, Any]:
    used = answer.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
    }


async def _chunks(answer: FacadeAnswer, wanted: ChatRequest, resources: ExitStack) -> AsyncIterator[bytes]:
    head = {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": wanted.model,
    }

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    with resources:
        yield chunk({"role": "assistant", "content": ""})
        async for thought in answer.thoughts():
            yield chunk({"reasoning_content": thought}) if thought else b": at work\n\n"
        try:
            yield chunk({"content": await answer.text()})
        except ServerProblem as problem:
            yield event({"error": {"message": problem.detail, "type": "server_error", "code": problem.code}})
            return
        yield chunk({}, "stop")
        if wanted.stream_options and wanted.stream_options.include_usage:
            yield event({**head, "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"
