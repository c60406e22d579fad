"""What a tool is, how a model sees it, and how a model's arguments become an Action.

Cancelling the task that awaits `Tool.run` is how a running tool is interrupted: the tool cleans up
in `finally` and lets `CancelledError` pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_runtime.events.content import Content, TextContent
from agent_runtime.tools.claims import Claim

SECURITY_RISKS = ("UNKNOWN", "LOW", "MEDIUM", "HIGH")


class ToolArgumentError(Exception):
    """Arguments that do not fit a tool. The text is for the model: it names parameters, never values."""


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_wire(self) -> dict[str, JsonValue]:
        """The JSON object that stands in an event: no nulls, `kind` (the class name) last."""
        return {**self.model_dump(mode="json", exclude_none=True), "kind": type(self).__name__}


class Action(_Payload):
    """What the agent asks of a tool. Field descriptions are what the model reads."""


class Observation(_Payload):
    """What came back. `content` is for the model, further fields are for people and their screens."""

    content: list[Content] = []
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))


class ToolAnnotations(BaseModel):
    """Hints about a tool's effects, named as in the Model Context Protocol."""

    model_config = ConfigDict(frozen=True)

    title: str | None = None
    readOnlyHint: bool = False  # noqa: N815 (the name on the wire)
    destructiveHint: bool = True  # noqa: N815
    idempotentHint: bool = False  # noqa: N815
    openWorldHint: bool = True  # noqa: N815


@dataclass(frozen=True)
class ToolContext:
    """Where a conversation's tools work, and where they keep what must survive a restart."""

    working_dir: Path
    state_dir: Path


ActionT = TypeVar("ActionT", bound=Action)


class Tool(ABC, Generic[ActionT]):
    """One capability of the agent. Construction is cheap: resources are taken at the first `run`.

    kind: what it is called on the wire; the name of its class unless it says otherwise.
    timeout_seconds: a call that takes longer is cancelled, and the model is told; None: as long as it takes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    kind: ClassVar[str]
    action_type: type[ActionT]
    observation_type: ClassVar[type[Observation]]
    annotations: ClassVar[ToolAnnotations] = ToolAnnotations()
    timeout_seconds: ClassVar[float | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__dict__.get("kind", cls.__name__)
        cls.title = cls.__dict__.get("title", getattr(cls, "name", cls.__name__))

    @property
    @abstractmethod
    def description(self) -> str:
        """What the model reads before it decides to call."""

    @abstractmethod
    async def run(self, action: ActionT) -> Observation:
        """The result, failures that the model can act on included (`is_error`)."""

    def claims(self, action: ActionT) -> Sequence[Claim]:
        """What the call touches. Calls whose claims conflict run one after another, in the model's order.

        Unless a tool knows better, reading touches everything without changing it, and any other call
        needs everything to itself. Must not raise; asked for before the call runs, and after a crash.
        """
        del action
        return (Claim(is_shared=self.annotations.readOnlyHint),)

    async def close(self) -> None:
        """Give back every resource. Safe to call twice."""
        return


AnyTool = Tool[Any]


def model_schema(tool: AnyTool) -> dict[str, JsonValue]:
    """The tool as an OpenAI function: the action's fields plus the two that every tool carries."""
    schema = _plain(tool.action_type.model_json_schema())
    own = schema["properties"] if isinstance(schema, dict) else {}
    properties: dict[str, JsonValue] = {**_common_parameters(tool), **(own if isinstance(own, dict) else {})}
    required: list[JsonValue] = [
        name for name, field in tool.action_type.model_fields.items() if field.is_required()
    ]
    parameters: dict[str, JsonValue] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def parse_arguments(tool: Tool[ActionT], arguments: Mapping[str, JsonValue]) -> ActionT:
    """The model's arguments as an Action; ToolArgumentError when they do not fit.

    `security_risk` and `summary` belong to the call, not to the action; nulls count as left out.
    """
    fields = tool.action_type.model_fields
    own = {
        name: value
        for name, value in arguments.items()
        if value is not None and (name in fields or name not in {"security_risk", "summary"})
    }
    try:
        return tool.action_type.model_validate(own)
    except ValidationError as error:
        raise ToolArgumentError(_explain(tool, error)) from error


def _common_parameters(tool: AnyTool) -> dict[str, JsonValue]:
    summary: dict[str, JsonValue] = {
        "type": "string",
        "description": "What this call does, in about ten words: the verb and its object. "
        "People read it while they follow your work. Example: 'Run the unit tests of the parser'.",
    }
    if tool.annotations.readOnlyHint:
        return {"summary": summary}
    risk: dict[str, JsonValue] = {
        "type": "string",
        "description": "Your judgement of the harm this call could do: LOW reads or makes changes that are "
        "easily undone inside the workspace, MEDIUM changes things that are hard to restore, "
        "HIGH reaches outside the workspace or may lose or leak data. UNKNOWN if you cannot tell.",
        "enum": list(SECURITY_RISKS),
    }
    return {"security_risk": risk, "summary": summary}


def _plain(schema: JsonValue, definitions: Mapping[str, JsonValue] | None = None) -> JsonValue:
    """Pydantic's JSON Schema reduced to what every vendor accepts.

    References are resolved, `X | null` becomes X, titles, defaults and closedness are dropped.
    """
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if definitions is None:
        found = schema.get("$defs", {})
        definitions = found if isinstance(found, dict) else {}
    if isinstance(reference := schema.get("$ref"), str):
        target = definitions[reference.rsplit("/", 1)[-1]]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**target, **rest}, definitions) if isinstance(target, dict) else target
    if isinstance(choices := schema.get("anyOf"), list):
        others = [choice for choice in choices if choice != {"type": "null"}]
        if len(others) == 1 and isinstance(others[0], dict):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return _plain({**others[0], **rest}, definitions)
    return {
        key: _plain_properties(value, definitions) if key == "properties" else _plain(value, definitions)
        for key, value in schema.items()
        if key not in {"title", "default", "additionalProperties", "$defs", "minimum"}
    }


def _plain_properties(properties: JsonValue, definitions: Mapping[str, JsonValue]) -> JsonValue:
    # Apart from the rest because a parameter may well be called "title" or "default".
    if not isinstance(properties, dict):
        return properties
    return {name: _plain(schema, definitions) for name, schema in properties.items()}


def _explain(tool: AnyTool, error: ValidationError) -> str:
    problems = "; ".join(
        f"`{'.'.join(map(str, problem['loc']))}`: {_plain_words(problem['type'], problem['msg'])}"
        for problem in error.errors(include_input=False, include_url=False, include_context=False)
    )
    known = ", ".join(
        f"{name} (required)" if field.is_required() else name
        for name, field in tool.action_type.model_fields.items()
    )
    return f"The arguments of `{tool.name}` are not valid. {problems}. Its parameters are: {known}."


def _plain_words(error_type: str, message: str) -> str:
    words = {"missing": "is required and was not given", "extra_forbidden": "is not a parameter of this tool"}
    return words.get(error_type, message)
