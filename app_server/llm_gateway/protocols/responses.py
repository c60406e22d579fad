"""Defines which fields a sandbox may send in OpenAI's Responses protocol, and which models support this
protocol. This module does no I/O.

The vendor's key gives access to everything that the key's account stores at the vendor. Therefore the vendor
is asked to store nothing, and a call cannot name anything stored: no earlier response, conversation, prompt,
item or file. Tools that the vendor runs are refused, because an agent could use them to act outside the
sandbox.
"""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import JsonValue

from agent_runtime.vendors import OPENAI_URL
from app_server.core.errors import BadRequest
from app_server.llm_gateway.forwarding.fields import Closed, Object
from app_server.llm_gateway.forwarding.vendors import PassThrough, Vendor
from app_server.settings.effective_values import Effective

_ITEMS = {
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
}


class ResponsesStreamOptions(Closed):
    include_obfuscation: bool | None = None


class ResponsesTool(Closed):
    """A tool in a call of the Responses protocol. The program that makes the call runs the tool. If `type` is
    `namespace`, the object is a named group of tools, which are in `tools`.
    """

    type: Literal["function", "custom", "namespace"]
    name: str
    description: str | None = None
    parameters: Object | None = None
    strict: bool | None = None
    format: Object | None = None
    tools: "list[ResponsesTool] | None" = None


class Reasoning(Closed):
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    effort: str | None = None
    summary: str | None = None


class Text(Closed):
    format: Object | None = None
    verbosity: str | None = None


class ResponsesFields(Closed):
    """The allowed fields of a call in the Responses protocol. The protocol requires `model`, but its value is
    ignored, because the call is sent to the model in the user's model profile. `store` may only be false.
    `client_metadata` names the program and is not passed on.
    """

    model: str | None = None
    input: str | list[Object]
    instructions: str | None = None
    include: list[Literal["reasoning.encrypted_content", "message.output_text.logprobs"]] | None = None
    store: Literal[False] | None = None
    stream: bool | None = None
    stream_options: ResponsesStreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    max_output_tokens: int | None = None
    reasoning: Reasoning | None = None
    text: Text | None = None
    tools: list[ResponsesTool] | None = None
    tool_choice: str | Object | None = None
    parallel_tool_calls: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    metadata: dict[str, str] | None = None
    client_metadata: Object | None = None
    user: str | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None


def require_spoken(vendor: Vendor, model: Effective) -> PassThrough:
    """Checks that a model can be called in the Responses protocol, and returns its vendor. If the model
    catalogue (the server's list of known models) does not contain the model, this is assumed for every vendor
    that is called without translation. Raises BadRequest `model_protocol_unsupported` if the model cannot be
    called in this protocol.
    """
    facts = model.facts
    is_unknown = not (facts.is_listed or facts.maker)
    if isinstance(vendor, PassThrough) and (
        vendor.base_url == OPENAI_URL or "responses" in facts.protocols or is_unknown
    ):
        return vendor
    raise BadRequest(
        "This model cannot be asked through the Responses protocol.",
        code="model_protocol_unsupported",
        fix="Call /chat/completions below the same address, or choose another model.",
    )


def check_input(body: dict[str, Any]) -> None:
    """Checks that the input of a call in the Responses protocol contains only allowed kinds of items, and no
    files that are stored at the vendor. Raises BadRequest `unknown_model_input` if it contains something
    else. `body`: the request body, which contains only allowed fields.
    """
    given = body["input"]
    for item in given if isinstance(given, list) else ():
        kind = item.get("type") or "message"
        if kind not in _ITEMS:
            raise _unknown(f"items of type {str(kind)[:100]}")
        if any("file_id" in part for part in _parts(item)):
            raise _unknown("files that are stored at the vendor")


def unstored(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the body of a call in the Responses protocol with `store` set to false, so that the vendor does
    not store the response. Also removes `client_metadata`, which names the calling program.
    """
    return {name: value for name, value in body.items() if name != "client_metadata"} | {"store": False}


def _parts(item: dict[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    for holder in (item.get("content"), item.get("output")):
        if isinstance(holder, list):
            yield from (part for part in holder if isinstance(part, dict))


def _unknown(what: str) -> BadRequest:
    return BadRequest(
        f"The model gateway does not take {what} in the input of a response.",
        code="unknown_model_input",
        fix="Send messages, reasoning, and calls of your tools with their outputs.",
    )
