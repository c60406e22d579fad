"""Describes the fields of the settings as JSON, so that a client can build forms for them."""

import typing
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from agent_runtime.agent.agent import Agent
from agent_runtime.context.condense import LLMSummarizingCondenser
from agent_runtime.llm.config import LLM
from agent_runtime.wire import StartConversationRequest

ValueType = Literal["string", "integer", "number", "boolean", "array", "object"]
Prominence = Literal["critical", "major", "minor"]

_CRITICAL = {"llm.model", "llm.api_key", "llm.base_url"}
_MAJOR = {"llm.reasoning_effort", "llm.max_budget_per_task", "tools", "max_iterations", "confirmation_policy"}
_CONVERSATION = ("max_iterations", "stuck_detection", "stuck_detection_thresholds", "confirmation_policy")
_AGENT = ("tools", "mcp_config", "filter_tools_regex", "system_prompt", "tool_concurrency_limit")


class SettingsChoice(BaseModel):
    value: bool | int | float | str
    label: str


class SettingsField(BaseModel):
    key: str
    label: str
    description: str | None = None
    section: str
    section_label: str
    value_type: ValueType
    default: Any = None
    prominence: Prominence = "minor"
    depends_on: list[str] = []
    secret: bool = False
    choices: list[SettingsChoice] = []
    variant: str | None = None


class SettingsSection(BaseModel):
    key: str
    label: str
    fields: list[SettingsField]
    variant: str | None = None


class SettingsSchema(BaseModel):
    model_name: str
    sections: list[SettingsSection]


def agent_schema() -> SettingsSchema:
    own = {name: Agent.model_fields[name] for name in _AGENT}
    return SettingsSchema(
        model_name="AgentSettings",
        sections=[
            _section("llm", "Model", LLM.model_fields, prefix="llm."),
            _section("general", "Agent", own),
            _section("condenser", "Condenser", _condenser_fields(), prefix="condenser."),
        ],
    )


def conversation_schema() -> SettingsSchema:
    fields = {name: StartConversationRequest.model_fields[name] for name in _CONVERSATION}
    return SettingsSchema(
        model_name="ConversationSettings", sections=[_section("general", "Conversation", fields)]
    )


def _condenser_fields() -> dict[str, FieldInfo]:
    fields = LLMSummarizingCondenser.model_fields
    return {name: field for name, field in fields.items() if name not in {"kind", "llm"}}


def _section(key: str, label: str, fields: Mapping[str, FieldInfo], *, prefix: str = "") -> SettingsSection:
    return SettingsSection(
        key=key,
        label=label,
        fields=[_field(f"{prefix}{name}", name, field, key, label) for name, field in fields.items()],
    )


def _field(key: str, name: str, field: FieldInfo, section: str, section_label: str) -> SettingsField:
    value_type = _value_type(field.annotation)
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    return SettingsField(
        key=key,
        label=name.replace("_", " ").capitalize(),
        description=field.description,
        section=section,
        section_label=section_label,
        value_type=value_type,
        default=default if isinstance(default, bool | int | float | str | list | dict) else None,
        prominence="critical" if key in _CRITICAL else "major" if key in _MAJOR else "minor",
        secret=SecretStr in _alternatives(field.annotation),
        choices=[
            SettingsChoice(value=value, label=str(value)) for value in _literal_values(field.annotation)
        ],
    )


def _alternatives(annotation: Any) -> list[Any]:
    arguments = typing.get_args(annotation)
    is_union = arguments and typing.get_origin(annotation) not in {list, dict, tuple, Literal}
    return [one for argument in arguments for one in _alternatives(argument)] if is_union else [annotation]


def _literal_values(annotation: Any) -> list[Any]:
    literals = [one for one in _alternatives(annotation) if typing.get_origin(one) is Literal]
    return [value for one in literals for value in typing.get_args(one)]


def _value_type(annotation: Any) -> ValueType:
    kinds = [one for one in _alternatives(annotation) if one is not type(None)]
    first = typing.get_origin(kinds[0]) or kinds[0]
    simple: dict[Any, ValueType] = {bool: "boolean", int: "integer", float: "number", list: "array"}
    if first in simple:
        return simple[first]
    is_object = first is dict or (isinstance(first, type) and issubclass(first, BaseModel))
    return "object" if is_object else "string"
