"""Anthropic's Messages protocol: which fields a program may send, and the translation of a call to a chat
completion. This module does no I/O.

Every model can be called in this protocol. Calls of Anthropic's own models are checked here, but not
translated (native_messages.py). The following parts of a call are refused: tools that a vendor runs, MCP
servers, containers, stored files, and images that are given by their address. An agent could use them to act
outside the sandbox. The module `thinking` translates the fields about the model's thinking, and the module
`output` translates the fields about the form of the reply. The field `metadata` is not passed on, because it
only names the program's user.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, JsonValue

from agent_runtime.catalogue.facts import Facts
from agent_runtime.vendors import OPENAI_URL
from app_server.core.errors import BadRequest
from app_server.llm_gateway.forwarding import fields
from app_server.llm_gateway.forwarding.fields import Closed, Object
from app_server.llm_gateway.forwarding.vendors import PassThrough, Vendor
from app_server.llm_gateway.limits.meter import estimated
from app_server.llm_gateway.protocols import output, thinking
from app_server.llm_gateway.protocols.cache_marks import Marks, marked, marks_of
from app_server.settings.options import ProfileOptions

_DEFAULT_TEMPERATURE = 1
_PER_IMAGE = 1600
"""The maximum number of tokens that Anthropic counts for an image. It is used to estimate the number of
tokens.
"""
_PER_PAGE = 2000
_CHARACTERS_PER_PAGE = 70_000
"""The assumed number of characters for one page of a PDF in base64, which are about 50 kB."""
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def _without_nulls(value: Any) -> Any:
    """Returns the JSON value without the fields that are null. Client libraries for this protocol send null
    for optional fields that a program has not set. If the null values were not removed, Slipway would refuse
    such a call.
    """
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


class TextBlock(Closed):
    type: Literal["text"]
    text: str
    cache_control: Object | None = None
    citations: list[Object] | None = None


class ImageSource(Closed):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class ImageBlock(Closed):
    type: Literal["image"]
    source: ImageSource
    cache_control: Object | None = None


class PdfSource(Closed):
    type: Literal["base64"]
    media_type: Literal["application/pdf"]
    data: str


class PlainSource(Closed):
    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: str


class DocumentBlock(Closed):
    type: Literal["document"]
    source: Annotated[PdfSource | PlainSource, Field(discriminator="type")]
    title: str | None = None
    context: str | None = None
    citations: Object | None = None
    cache_control: Object | None = None


InputBlock = TextBlock | ImageBlock | DocumentBlock


class ThinkingBlock(Closed):
    type: Literal["thinking", "redacted_thinking"]
    thinking: str = ""
    signature: str = ""
    data: str = ""


class ToolUseBlock(Closed):
    type: Literal["tool_use"]
    id: str
    name: str
    input: Object
    caller: Object | None = None
    cache_control: Object | None = None


class ToolResultBlock(Closed):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[Annotated[InputBlock, Field(discriminator="type")]] = ""
    is_error: bool | None = None
    cache_control: Object | None = None


Block = Annotated[InputBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock, Field(discriminator="type")]


class MessageOfTalk(Closed):
    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class MessagesTool(Closed):
    """A tool in a call of the Messages protocol. The program that makes the call runs the tool."""

    type: Literal["custom"] | None = None
    name: str
    description: str | None = None
    input_schema: Object
    strict: bool | None = None
    cache_control: Object | None = None
    eager_input_streaming: bool | None = None


class ToolChoice(Closed):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class MessagesFields(Closed):
    """The allowed fields of a call in the Messages protocol. The protocol requires `model`, but its value is
    ignored, because the call is sent to the model in the user's model profile.
    """

    model: str | None = None
    messages: list[MessageOfTalk]
    max_tokens: int = Field(gt=0)
    system: str | list[TextBlock] | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    tools: list[MessagesTool] | None = None
    tool_choice: Annotated[ToolChoice | None, BeforeValidator(_without_nulls)] = None
    thinking: Object | None = None
    output_config: Object | None = None
    metadata: Object | None = None
    context_management: Object | None = None


class CountFields(Closed):
    """The allowed fields of a request that counts tokens in the Messages protocol."""

    model: str | None = None
    messages: list[Object]
    system: str | list[Object] | None = None
    tools: list[Object] | None = None
    tool_choice: Object | None = None
    thinking: Object | None = None
    output_config: Object | None = None
    context_management: Object | None = None
    cache_control: Object | None = None


def check(body: dict[str, Any], known: type[MessagesFields] = MessagesFields) -> MessagesFields:
    """Checks a call in the Messages protocol and returns its fields. `known`: the class that defines the
    allowed fields.

    Raises BadRequest `vendor_tool_refused` for a tool that the vendor runs. Raises BadRequest
    `unknown_model_input` for an image or document in a form that is not allowed. Raises BadRequest
    `unknown_model_field` for a field that is not allowed. Raises RequestValidationError for a wrong type.
    """
    for tool in _objects(body.get("tools")):
        if tool.get("type") not in (None, "custom"):
            raise BadRequest(
                f"The vendor would run {str(tool.get('type'))[:100]} itself, outside of the sandbox.",
                code="vendor_tool_refused",
                fix="Send only tools that your program runs, with an `input_schema`.",
            )
    for block in _blocks(body):
        source = block.get("source")
        kind = source.get("type") if isinstance(source, dict) else None
        if kind not in (None, "base64", "text"):
            raise BadRequest(
                "The model gateway takes images and documents only as base64, and documents as text.",
                code="unknown_model_input",
                fix="Send the bytes as a source of type `base64`.",
            )
    fields.check(body, known)
    return known.model_validate(body)


def as_chat(
    call: MessagesFields, vendor: Vendor, facts: Facts, model: str, chosen: ProfileOptions
) -> dict[str, Any]:
    """Translates a call in Anthropic's Messages protocol to a chat completion and returns its body. Marks of
    the prompt cache (`cache_control`) stay in the call if the vendor reads them. `facts`: what the model
    catalogue (the server's list of known models) says about the model. `model`, `chosen`: the model's name
    and the options in the model profile (the saved model).

    Raises BadRequest `unknown_model_input` for a document that the model does not accept. Raises BadRequest
    `model_field_unsupported` or `unknown_model_field` for a field that cannot be translated.
    """
    max_output = facts.max_output
    output.check_management(call.context_management)
    _check_documents(call, takes_pdf=isinstance(vendor, PassThrough) and "pdf" in facts.inputs)
    marks = marks_of(vendor, facts, model)
    is_openai = isinstance(vendor, PassThrough) and vendor.base_url == OPENAI_URL
    length = "max_completion_tokens" if is_openai else "max_tokens"
    most = min(call.max_tokens, max_output or call.max_tokens)
    body: dict[str, Any] = {
        "messages": [*_system(call.system, marks), *_talk(call.messages, facts, marks)],
        length: most,
        **output.response_format(call.output_config),
        **thinking.thinking_fields(model, facts, chosen, call.thinking, call.output_config, length=most),
        "stream": call.stream,
        # The default is left out: reasoning models refuse the field.
        "temperature": None if call.temperature == _DEFAULT_TEMPERATURE else call.temperature,
        "top_p": call.top_p,
        "top_k": call.top_k,
        "stop": call.stop_sequences or None,
    }
    if call.tools:
        body["tools"] = [_tool(tool, marks) for tool in call.tools]
        body |= _choice(call.tool_choice) if call.tool_choice else {}
    return {name: value for name, value in body.items() if value is not None}


def estimated_tokens(body: dict[str, Any]) -> int:
    """Estimates the tokens of a call in the Messages protocol from its texts, the number of its images and
    the size of its documents. Returns the estimated number. `body`: the request body, which contains only
    allowed fields.
    """
    attached = 0

    def without_bytes(value: JsonValue) -> JsonValue:
        nonlocal attached
        if isinstance(value, list):
            return [without_bytes(each) for each in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") == "base64" and isinstance(data := value.get("data"), str):
            pages = -(-len(data) // _CHARACTERS_PER_PAGE)
            attached += _PER_IMAGE if value.get("media_type") != "application/pdf" else pages * _PER_PAGE
            return {}
        return {name: without_bytes(each) for name, each in value.items()}

    texts = orjson.dumps(without_bytes(body))
    return estimated(len(texts), 0).prompt_tokens + attached


def _check_documents(call: MessagesFields, *, takes_pdf: bool) -> None:
    for message in call.messages:
        blocks = message.content if isinstance(message.content, list) else []
        results = [block.content for block in blocks if isinstance(block, ToolResultBlock)]
        inner = [each for content in results if isinstance(content, list) for each in content]
        for block in (*blocks, *inner):
            if not isinstance(block, DocumentBlock):
                continue
            if isinstance(block.source, PdfSource) and not takes_pdf:
                raise BadRequest(
                    "This model takes no PDF documents through the model gateway.",
                    code="unknown_model_input",
                    fix="Send the text of the document, or images of its pages.",
                )
            if block.citations and block.citations.get("enabled"):
                raise BadRequest(
                    "Only Anthropic's own models cite documents.",
                    code="unknown_model_input",
                    fix="Leave out `citations`.",
                )


def _system(system: str | list[TextBlock] | None, marks: Marks) -> Iterator[dict[str, Any]]:
    if system:
        yield {
            "role": "system",
            "content": system if isinstance(system, str) else _parts(system, marks),
        }


def _talk(messages: list[MessageOfTalk], facts: Facts, marks: Marks) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message.content, str):
            yield {"role": message.role, "content": message.content}
        elif message.role == "assistant":
            yield _reply(message.content, facts, marks)
        elif message.role == "system":
            texts = [block for block in message.content if isinstance(block, TextBlock)]
            yield {"role": "system", "content": _parts(texts, marks)}
        else:
            yield from _from_user(message.content, marks)


def _reply(blocks: list[Block], facts: Facts, marks: Marks) -> dict[str, Any]:
    texts = [block for block in blocks if isinstance(block, TextBlock) and block.text]
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": orjson.dumps(block.input).decode()},
        }
        for block in blocks
        if isinstance(block, ToolUseBlock)
    ]
    content: Any = _parts(texts, marks) if marks else "".join(text.text for text in texts)
    message: dict[str, Any] = {"role": "assistant", "content": content or (None if calls else "")}
    thoughts = [
        block.model_dump(exclude_defaults=True) for block in blocks if isinstance(block, ThinkingBlock)
    ]
    message |= thinking.sent_back(thoughts, facts)
    return {**message, "tool_calls": calls} if calls else message


def _from_user(blocks: list[Block], marks: Marks) -> Iterator[dict[str, Any]]:
    """Translates a user message of the Messages protocol. Yields one chat message for each tool result in it,
    and then one user message with all other content. Images in tool results go into the user message, because
    a tool result of a chat completion cannot contain images.
    """
    inputs: list[InputBlock] = []
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            inner = [] if isinstance(block.content, str) else block.content
            texts = [part.text for part in inner if isinstance(part, TextBlock)]
            text = (block.content if isinstance(block.content, str) else "\n".join(texts)) or "(no output)"
            if images := [part for part in inner if not isinstance(part, TextBlock)]:
                inputs += [TextBlock(type="text", text=f"What result {block.tool_use_id} shows:"), *images]
            result = {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}
            mark = next(
                (part.cache_control for part in (block, *reversed(inner)) if part.cache_control), None
            )
            yield marked(result, mark, marks)
        elif isinstance(block, InputBlock):
            inputs.append(block)
    if inputs:
        yield {"role": "user", "content": _parts(inputs, marks)}


def _parts(blocks: Any, marks: Marks) -> list[dict[str, Any]]:
    return [
        _part(block) | ({"cache_control": block.cache_control} if marks and block.cache_control else {})
        for block in blocks
    ]


def _part(block: InputBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, DocumentBlock):
        if isinstance(block.source, PlainSource):
            parts = filter(None, (block.title, block.context, block.source.data))
            return {"type": "text", "text": "\n\n".join(parts)}
        data = f"data:{block.source.media_type};base64,{block.source.data}"
        return {"type": "file", "file": {"filename": block.title or "document.pdf", "file_data": data}}
    url = f"data:{block.source.media_type};base64,{block.source.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _tool(tool: MessagesTool, marks: Marks) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": tool.strict,
    }
    translated: dict[str, Any] = {
        "type": "function",
        "function": {name: value for name, value in function.items() if value is not None},
    }
    return translated | ({"cache_control": tool.cache_control} if marks and tool.cache_control else {})


def _choice(choice: ToolChoice) -> dict[str, Any]:
    chosen: Any = _CHOICES.get(choice.type) or {"type": "function", "function": {"name": choice.name or ""}}
    is_single = choice.disable_parallel_tool_use
    return {"tool_choice": chosen} | ({"parallel_tool_calls": False} if is_single else {})


def _objects(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, JsonValue]]:
    for message in _objects(body.get("messages")):
        for block in _objects(message.get("content")):
            yield block
            yield from _objects(block.get("content"))
