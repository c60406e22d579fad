"""What a tool is, how a model sees it, and how a model's arguments become an Action.

Cancelling the task that awaits `Tool.run` is how a running tool is interrupted: the tool cleans up
in `finally` and lets `CancelledError` pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.tools.effects import NO_EFFECTS, UNDECLARED, Acts, Effect
from agent_runtime.tools.live_output import LiveOutputs
from agent_runtime.workspace.environment import OF_CONVERSATION, command_environment

SECURITY_RISKS = ("UNKNOWN", "LOW", "MEDIUM", "HIGH")


class ToolArgumentError(Exception):
    """Arguments that do not fit a tool. The text is for the model: it names parameters, never values."""


class CallSuspendedError(Exception):
    """The call has no result yet: it stays pending, and goes on when it is run again.

    waits_for_user: not before a user has confirmed what is asked.
    """

    def __init__(self, *, waits_for_user: bool) -> None:
        super().__init__()
        self.waits_for_user = waits_for_user


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_wire(self) -> dict[str, JsonValue]:
        """The JSON object that stands in an event: no nulls, `kind` (the class name) last."""
        return {**self.model_dump(mode="json", exclude_none=True), "kind": type(self).__name__}


class Action(_Payload):
    """What the agent asks of a tool. Field descriptions are what the model reads.

    off_wire: fields that clients do not know, and that would make them refuse the event. They stand only in
    the arguments of the event's `tool_call`.
    """

    off_wire: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, event: ActionEvent) -> Self:
        """The action that stands in the log. pydantic.ValidationError if it does not fit any more."""
        stored = {name: value for name, value in (event.action or {}).items() if name != "kind"}
        arguments = orjson.loads(event.tool_call.arguments) if cls.off_wire else {}
        unlisted = {name: arguments[name] for name in cls.off_wire if arguments.get(name) is not None}
        return cls.model_validate({**unlisted, **stored})

    def to_wire(self) -> dict[str, JsonValue]:
        return {name: value for name, value in super().to_wire().items() if name not in self.off_wire}


_OBSERVATIONS: dict[str, "type[Observation]"] = {}
"""By what they are called in a log. The first of a name keeps it."""


class Observation(_Payload):
    """What came back. `content` is for the model, further fields are for people and their screens."""

    content: list[Content] = []
    is_error: bool = False

    @classmethod
    def is_foreign(cls, wire: Mapping[str, JsonValue]) -> bool:
        """Whether its content may be written by outsiders, such as a web page or a server.

        The model then sees it between marks, as data that tells it nothing to do. Code that says no vouches
        for the whole text. wire: as it is logged; the answer must depend on nothing else.
        """
        del wire
        return True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _OBSERVATIONS.setdefault(cls.__name__, cls)

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))


class OwnObservation(Observation):
    """Its text is the runtime's, or stands in files of the workspace: what the work is about."""

    @classmethod
    def is_foreign(cls, wire: Mapping[str, JsonValue]) -> bool:
        del wire
        return False


def is_foreign(wire: Mapping[str, JsonValue]) -> bool:
    """Whether outsiders may have written what a logged observation says; yes, if its kind is not known."""
    known = _OBSERVATIONS.get(str(wire.get("kind")))
    return known is None or known.is_foreign(wire)


class ToolAnnotations(BaseModel):
    """Hints about a tool's effects, named as in the Model Context Protocol."""

    model_config = ConfigDict(frozen=True)

    title: str | None = None
    readOnlyHint: bool = False  # noqa: N815 (the name on the wire)
    destructiveHint: bool = True  # noqa: N815
    idempotentHint: bool = False  # noqa: N815
    openWorldHint: bool = True  # noqa: N815

    def titled(self, title: str) -> Self:
        return self.model_copy(update={"title": title})


READS = ToolAnnotations(readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False)
"""It reads files or state of this machine."""
CHANGES_FILES = ToolAnnotations(openWorldHint=False)
"""It may overwrite or delete files of this machine."""


@dataclass(frozen=True)
class ToolContext:
    """Where a conversation's tools work, and where they keep what must survive a restart.

    agent_definitions: of sub-agents, as the client has sent them. conversation_id: None in none.
    live: where calls show what they print while they run.
    """

    working_dir: Path
    state_dir: Path
    secrets: Secrets = field(default_factory=Secrets)
    delegation: Delegation = ALONE
    agent_definitions: Sequence[JsonObject] = ()
    conversation_id: UUID | None = None
    live: LiveOutputs = field(default_factory=LiveOutputs)

    def command_environment(self) -> dict[str, str]:
        """For programs that the agent starts: they can be known as its own for as long as they live."""
        own = {} if self.conversation_id is None else {OF_CONVERSATION: str(self.conversation_id)}
        return command_environment(own)


ActionT = TypeVar("ActionT", bound=Action)


class Tool(ABC, Generic[ActionT]):
    """One capability of the agent. Construction is cheap: resources are taken at the first `run`.

    kind: what it is called on the wire; the name of its class unless it says otherwise.
    action_type, observation_type: those that the class is declared with, as in `Tool[MyAction]` and in what
    `run` returns, unless it names others.
    timeout_seconds: a call that takes longer is cancelled, and the model is told; None: as long as it takes.
    awaits_answer: a call only waits for an answer and does no work meanwhile.
    """

    name: str
    title: str
    kind: ClassVar[str]
    action_type: type[ActionT]
    observation_type: ClassVar[type[Observation]]
    annotations: ToolAnnotations = ToolAnnotations()
    timeout_seconds: ClassVar[float | None] = None
    awaits_answer: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__dict__.get("kind", cls.__name__)
        cls.title = cls.__dict__.get("title", getattr(cls, "name", cls.__name__))
        own = cls.__dict__
        if "action_type" not in own and (declared := _declared_action(cls)) is not None:
            cls.action_type = declared
        if "observation_type" not in own and "run" in own:
            cls.observation_type = get_type_hints(cls.run)["return"]

    @property
    @abstractmethod
    def description(self) -> str:
        """What the model reads before it decides to call."""

    @abstractmethod
    async def run(self, action: ActionT) -> Observation:
        """The result, failures that the model can act on included (`is_error`)."""

    async def handle(self, event: ActionEvent) -> Observation:
        """The result of one call, for tools that have to know which one it is. Cancelled as `run` is."""
        return await self.run(self.action_type.of(event))

    @property
    def is_repeatable(self) -> bool:
        """Whether a call that a crash cut off does no harm when it is made once more."""
        return self.annotations.readOnlyHint

    def claims(self, action: ActionT) -> Sequence[Claim]:
        """What the call touches. Calls whose claims conflict run one after another, in the model's order.

        Unless a tool knows better, reading touches everything without changing it, and any other call
        needs everything to itself. Must not raise; asked for before the call runs, and after a crash.
        """
        del action
        return (Claim(is_shared=self.annotations.readOnlyHint),)

    def effects(self, action: ActionT) -> Sequence[Effect]:
        """What the call would do, so that a policy can decide whether to ask the user first.

        Unless a tool knows better: what its annotations say, and nothing known if it has none. Must not
        raise, and must not understate: a call without effects is never asked about by risk.
        """
        del action
        return hinted(self.annotations)

    def is_unchanged(self, action: ActionT, since: float) -> bool:
        """Whether the call surely would be answered as it was at that moment (seconds since the epoch).

        A tool that says so must be deterministic and only read. Asked on the event loop: at once. When in
        doubt, and unless a tool knows better: no.
        """
        del action, since
        return False

    def parameters(self) -> dict[str, JsonValue]:
        """The JSON Schema of its arguments: an object with `properties`, and `required` if any are."""
        return parameters_of(self.action_type)

    def parameter_names(self) -> Collection[str]:
        return self.action_type.model_fields

    def reported(self) -> Mapping[str, object]:
        """What clients are told of it beside what every tool has. The protocol's kind says what it needs."""
        return {}

    def parse(self, arguments: Mapping[str, JsonValue]) -> ActionT:
        """What a model has sent, as an Action. pydantic.ValidationError, ToolArgumentError."""
        return self.action_type.model_validate(arguments)

    def touches(self, action: ActionT, observation: Mapping[str, JsonValue]) -> Sequence[Path]:
        """The files and directories the call was about, absolute: what a project says of them is told
        with its result. observation: the result as it is logged. Must not raise.
        """
        del observation
        return [path for claim in self.claims(action) if (path := claim.path) is not None]

    def holds_work(self) -> bool:
        """Whether `close` would end something that goes on between calls, such as a server it started."""
        return False

    async def close(self) -> None:
        """Give back every resource. Safe to call twice."""
        return


AnyTool = Tool[Any]


def hinted(annotations: ToolAnnotations) -> Sequence[Effect]:
    """What annotations tell, for tools whose maker is trusted to write them."""
    if annotations.readOnlyHint:
        return NO_EFFECTS
    if annotations.destructiveHint or not annotations.model_fields_set - {"title"}:
        return UNDECLARED
    return (Acts("changes something"),)


def _declared_action(tool: type[AnyTool]) -> type[Any] | None:
    """`MyAction` of `class MyTool(Tool[MyAction])`."""
    bases = [base for base in tool.__dict__.get("__orig_bases__", ()) if get_origin(base) is Tool]
    found = get_args(bases[0])[0] if bases else None
    return found if isinstance(found, type) else None


def parameters_of(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """The model's fields as a JSON Schema with `properties`, and `required` if any are."""
    schema = _plain(arguments.model_json_schema())
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    required: list[JsonValue] = [n for n, field in arguments.model_fields.items() if field.is_required()]
    return {"properties": properties, **({"required": required} if required else {})}


def model_schema(tool: AnyTool, *, requires_risk: bool = False) -> dict[str, JsonValue]:
    """The tool as an OpenAI function: its own parameters plus the two that every tool carries.

    requires_risk: each call that changes something has to say how risky it is.
    """
    own = tool.parameters()
    own_properties = own.get("properties")
    properties = {
        **_common_parameters(tool),
        **(own_properties if isinstance(own_properties, dict) else {}),
    }
    parameters: dict[str, JsonValue] = {"type": "object", **own, "properties": properties}
    if requires_risk and "security_risk" in properties:
        needed = own.get("required", [])
        parameters["required"] = ["security_risk", *(needed if isinstance(needed, list) else [])]
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def parse_arguments(tool: Tool[ActionT], arguments: Mapping[str, JsonValue]) -> ActionT:
    """The model's arguments as an Action; ToolArgumentError when they do not fit.

    `security_risk` and `summary` belong to the call, not to the action; nulls count as left out.
    """
    names = tool.parameter_names()
    own = {
        name: value
        for name, value in arguments.items()
        if value is not None and (name in names or name not in {"security_risk", "summary"})
    }
    try:
        return tool.parse(own)
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
    required = tool.parameters().get("required")
    needed = required if isinstance(required, list) else []
    known = ", ".join(f"{name} (required)" if name in needed else name for name in tool.parameter_names())
    return f"The arguments of `{tool.name}` are not valid. {problems}. Its parameters are: {known}."


def _plain_words(error_type: str, message: str) -> str:
    words = {"missing": "is required and was not given", "extra_forbidden": "is not a parameter of this tool"}
    return words.get(error_type, message)
