"""What a tool is. `arguments` says how a model sees it, and how a model's arguments become an Action.

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
from pydantic import BaseModel, ConfigDict, JsonValue

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import Content, TextContent
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.tools.effects import NO_EFFECTS, UNDECLARED, Acts, Effect
from agent_runtime.tools.json_schema import parameters_of
from agent_runtime.tools.live_output import LiveOutputs
from agent_runtime.workspace.environment import OF_CONVERSATION, command_environment


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
