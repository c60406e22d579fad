"""The fields that a sandbox may send in a model call. This module does no I/O.

All other fields are refused, and the error names them. A list of forbidden fields would not be enough:
libraries and proxies read many fields that send a call to another server, with the vendor's key. Only the
model profile (the saved model with its address and key) decides which server and which model a call goes to.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from app_server.core.errors import BadRequest, invalid_body

Object = dict[str, JsonValue]


class Closed(BaseModel):
    """The base class of the request types in this module. A request with a field that its class does not
    define is refused.
    """

    model_config = ConfigDict(extra="forbid", strict=True)


class StreamOptions(Closed):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ResponseFormat(Closed):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: Object | None = None


class Tool(Closed):
    """A tool in a chat completion. The agent runs the tool. Tools that a vendor runs are not allowed, because
    an agent could use them to act outside the sandbox.
    """

    type: Literal["function", "custom"]
    function: Object | None = None
    custom: Object | None = None
    cache_control: Object | None = None


class Thinking(Closed):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: int | None = None


class ChatFields(Closed):
    """The fields of a chat completion that OpenAI defines and that are allowed for every vendor. The protocol
    requires `model`, but its value is ignored, because the call is sent to the model in the user's model
    profile.
    """

    model: str | None = None
    messages: list[Any]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    seed: int | None = None
    user: str | None = None
    tools: list[Tool] | None = None
    tool_choice: str | Object | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    # For vendors with other protocols and for compatible servers.
    thinking: Thinking | None = None
    top_k: int | None = None


class CompatibleFields(ChatFields):
    """The allowed fields of a chat completion for servers that implement OpenAI's protocol themselves. These
    are the fields of ChatFields and, in addition, fields that only some of these servers know.
    """

    metadata: dict[str, str] | None = None
    store: bool | None = None
    modalities: list[str] | None = None
    audio: Object | None = None
    prediction: Object | None = None
    prompt_cache_retention: str | None = None
    # OpenRouter, vLLM, SGLang, DeepSeek, Qwen, Ollama.
    reasoning: Object | None = None
    include_reasoning: bool | None = None
    separate_reasoning: bool | None = None
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    chat_template_kwargs: Object | None = None
    usage: Object | None = None
    min_p: float | None = None
    top_a: float | None = None
    min_tokens: int | None = None
    length_penalty: float | None = None
    repetition_penalty: float | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool | None = None
    skip_special_tokens: bool | None = None
    safe_prompt: bool | None = None
    random_seed: int | None = None


def check(body: dict[str, Any], fields: type[Closed]) -> None:
    """Checks that the request body has only the fields that the pydantic model `fields` defines. Raises
    BadRequest `unknown_model_field` for another field. Raises RequestValidationError for a field with a
    wrong type.
    """
    try:
        fields.model_validate(body)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        unknown = [_path(one["loc"]) for one in errors if one["type"] == "extra_forbidden"]
        if not unknown:
            raise invalid_body(error) from None
        raise BadRequest(
            f"The model gateway does not know these fields of a call: {', '.join(unknown[:10])}.",
            code="unknown_model_field",
            fix="Leave them out (`litellm_extra_body`). Model, address and key are the profile's.",
        ) from None


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part)[:100] for part in location)
