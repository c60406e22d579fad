"""Checks requests to models against the types in the vendors' own Python packages."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import anthropic.types.message_create_params as anthropic_messages
import openai.types.chat.completion_create_params as openai_chat
import openai.types.responses.response_create_params as openai_responses
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from google.genai import types as gemini
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic_core import SchemaValidator

_PARAMS: Mapping[str, tuple[Any, Any]] = {
    "/chat/completions": (
        openai_chat.CompletionCreateParamsNonStreaming,
        openai_chat.CompletionCreateParamsStreaming,
    ),
    "/responses": (
        openai_responses.ResponseCreateParamsNonStreaming,
        openai_responses.ResponseCreateParamsStreaming,
    ),
    "/messages": (
        anthropic_messages.MessageCreateParamsNonStreaming,
        anthropic_messages.MessageCreateParamsStreaming,
    ),
}


def accept(path: str, body: Mapping[str, Any], *, further: frozenset[str] = frozenset()) -> None:
    """Checks that the vendor's package could have sent this body to this path.

    `further`: top-level fields that only compatible servers know. Raises AssertionError for an unknown
    top-level field and ValidationError for a wrong type; for Bedrock, raises AssertionError in both cases.
    """
    if path.partition("?")[0].endswith((":generateContent", ":streamGenerateContent")):
        _Gemini.model_validate(body)
        return
    if path.endswith(("/converse", "/converse-stream")):
        operation = "ConverseStream" if path.endswith("-stream") else "Converse"
        shape = _bedrock().operation_model(operation).input_shape
        report = ParamValidator().validate({"modelId": path.split("/")[-2], **body}, shape)
        assert not report.has_errors(), report.generate_report()
        return
    if path.endswith((":rawPredict", ":streamRawPredict")):
        # Claude at Vertex AI: the path names the model, a field of the body names the version.
        assert body["anthropic_version"] == "vertex-2023-10-16"
        path, body = "/messages", {**body, "model": "claude"}
        further |= {"anthropic_version"}
    kinds = next(kinds for ending, kinds in _PARAMS.items() if path.endswith(ending))
    kind = kinds[bool(body.get("stream"))]
    unknown = body.keys() - get_type_hints(kind).keys() - further
    assert not unknown, unknown
    _validator(kind).validate_python({**body})


class _Gemini(BaseModel):
    """The body of `generateContent`. Google's package has types for its parts only."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)

    contents: list[gemini.Content]
    system_instruction: gemini.Content | None = None
    tools: list[gemini.Tool] | None = None
    tool_config: gemini.ToolConfig | None = None
    generation_config: gemini.GenerationConfig | None = None
    safety_settings: list[gemini.SafetySetting] | None = None


@cache
def _bedrock() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_with_lists(TypeAdapter(kind).core_schema))


def _with_lists(schema: Any) -> Any:
    """Returns the schema with lists in place of iterables.

    pydantic validates the items of an iterable only when they are read.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(_with_lists(each) for each in schema)
    if not isinstance(schema, dict):
        return schema
    changed = {name: _with_lists(value) for name, value in schema.items()}
    return {**changed, "type": "list"} if changed.get("type") == "generator" else changed
