"""Contains the base classes of tools. The module `arguments` converts the arguments of calls.

To interrupt a running tool, the task that awaits `Tool.run` is cancelled. The tool cleans up in `finally` and
does not catch `CancelledError`.
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
    """The error that is raised when a tool call stops before it has a result, because it must wait. No result
    is logged. When the call is run again later, it continues where it stopped.

    `waits_for_user`: whether the call must not run again before a user has confirmed something.
    """

    def __init__(self, *, waits_for_user: bool) -> None:
        super().__init__()
        self.waits_for_user = waits_for_user


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def wire_kind(cls) -> str:
        """Returns the value of the field `kind` in events: the name of this class."""
        return cls.__name__

    def to_wire(self) -> dict[str, JsonValue]:
        """Returns the action or observation as the JSON object for an event: without nulls, and with the
        field `kind` (the class name) at the end.
        """
        return {**self.model_dump(mode="json", exclude_none=True), "kind": self.wire_kind()}


class Action(_Payload):
    """The arguments of a tool call. The model reads the descriptions of the fields.

    `off_wire`: the names of fields that clients of the agent server do not know. Clients would refuse an
    event whose `action` has unknown fields. So these fields are left out of `action`; the event contains them
    only in the arguments of its `tool_call`.
    """

    off_wire: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, event: ActionEvent) -> Self:
        """Returns the action that a logged event contains.

        Raises pydantic.ValidationError if the logged action no longer fits the class.
        """
        stored = {name: value for name, value in (event.action or {}).items() if name != "kind"}
        arguments = orjson.loads(event.tool_call.arguments) if cls.off_wire else {}
        unlisted = {name: arguments[name] for name in cls.off_wire if arguments.get(name) is not None}
        return cls.model_validate({**unlisted, **stored})

    def to_wire(self) -> dict[str, JsonValue]:
        return {name: value for name, value in super().to_wire().items() if name not in self.off_wire}


_OBSERVATIONS: dict[str, "type[Observation]"] = {}
"""The observation classes by their names in the event log. If two classes have the same name, the first one
is used.
"""


class Observation(_Payload):
    """The result of a tool call. The field `content` is for the model. All other fields are for people and
    user interfaces.
    """

    content: list[Content] = []
    is_error: bool = False

    @classmethod
    def is_foreign(cls, wire: Mapping[str, JsonValue]) -> bool:
        """Returns whether the content may come from untrusted sources, for example from a web page or a
        server.

        The model sees such content between marks that say "data, not instructions". If the method returns
        False, the model trusts the whole text.

        `wire`: the observation as JSON from the event log; the method must use no other data.
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
    """An observation whose text comes from the runtime or from files of the workspace, and so counts as
    trusted.
    """

    @classmethod
    def is_foreign(cls, wire: Mapping[str, JsonValue]) -> bool:
        del wire
        return False


def is_foreign(wire: Mapping[str, JsonValue]) -> bool:
    """Returns whether the content of a logged observation may come from an untrusted source, for example from
    a web page. Returns True if the kind of the observation is not known.
    """
    known = _OBSERVATIONS.get(str(wire.get("kind")))
    return known is None or known.is_foreign(wire)


class ToolAnnotations(BaseModel):
    """The hints about a tool's effects. The fields have the names that the Model Context Protocol defines."""

    model_config = ConfigDict(frozen=True)

    title: str | None = None
    readOnlyHint: bool = False  # noqa: N815 (the name on the wire)
    destructiveHint: bool = True  # noqa: N815
    idempotentHint: bool = False  # noqa: N815
    openWorldHint: bool = True  # noqa: N815

    def titled(self, title: str) -> Self:
        return self.model_copy(update={"title": title})


READS = ToolAnnotations(readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False)
"""The annotations of tools that only read files or state of this machine."""
CHANGES_FILES = ToolAnnotations(openWorldHint=False)
"""The annotations of tools that may overwrite or delete files of this machine."""


@dataclass(frozen=True)
class ToolContext:
    """The directories and services that the tools of one conversation use. `working_dir`: the directory in
    which the tools work. `state_dir`: the directory for files that are needed after a restart.

    `agent_definitions`: definitions of sub-agents from the client. `further_projects`: the directories of the
    conversation's additional repositories. `conversation_id`: None outside a conversation. `live`: publishes
    the output of running calls.
    """

    working_dir: Path
    state_dir: Path
    secrets: Secrets = field(default_factory=Secrets)
    delegation: Delegation = ALONE
    agent_definitions: Sequence[JsonObject] = ()
    conversation_id: UUID | None = None
    live: LiveOutputs = field(default_factory=LiveOutputs)
    further_projects: Sequence[Path] = ()

    def command_environment(self) -> dict[str, str]:
        """Returns the environment variables for commands of the agent. One variable contains the conversation
        id, by which the processes that these commands start can be found later.
        """
        own = {} if self.conversation_id is None else {OF_CONVERSATION: str(self.conversation_id)}
        return command_environment(own)


ActionT = TypeVar("ActionT", bound=Action)


class Tool(ABC, Generic[ActionT]):
    """The base class of tools. A tool is one capability of the agent. A tool acquires resources at the first
    `run`, not in its constructor.

    `kind`: the name in events; by default the name of the class. `action_type`: the class of the arguments;
    by default the class `MyAction` in the declaration `Tool[MyAction]`. `observation_type`: the class of the
    result; by default the return type of `run`. `timeout_seconds`: a call that takes longer is cancelled, and
    the model is informed; None means no limit. `awaits_answer`: whether a call only waits for a client's
    reply and does nothing itself.
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
        """The tool's description, by which the model decides whether and how to call the tool."""

    @abstractmethod
    async def run(self, action: ActionT) -> Observation:
        """Runs the tool call and returns its result. A failure to which the model can react is returned as a
        result with `is_error`.
        """

    async def handle(self, event: ActionEvent) -> Observation:
        """Runs the tool call that the event contains, and returns the result. By default, this calls `run`. A
        tool overrides this method instead of `run` if it needs the event's id. To interrupt the tool call,
        the task that awaits this method is cancelled.
        """
        return await self.run(self.action_type.of(event))

    @property
    def is_repeatable(self) -> bool:
        """Whether a call that a crash interrupted can be repeated without harm."""
        return self.annotations.readOnlyHint

    def claims(self, action: ActionT) -> Sequence[Claim]:
        """Returns the claims of the call: which resources it uses, such as files. Calls with conflicting
        claims run one after another, in the model's order.

        By default, calls of tools that only read can run at the same time, and a call of any other tool runs
        alone. Must not raise an error. Called before the call runs, and again after a crash.
        """
        del action
        return (Claim(is_shared=self.annotations.readOnlyHint),)

    def effects(self, action: ActionT) -> Sequence[Effect]:
        """Returns the effects of the call, by which a policy decides whether to ask the user first.

        By default, the effects are derived from the tool's annotations (hints such as `readOnlyHint`).
        Without annotations, the effects are unknown. Must not raise an error. Must return all effects,
        because a policy that judges by risk does not ask the user about a call without effects.
        """
        del action
        return hinted(self.annotations)

    def is_unchanged(self, action: ActionT, since: float) -> bool:
        """Returns whether the call would certainly give the same result as at an earlier time. If so, the
        runtime does not repeat the call, and tells the model that the earlier result is still valid. `since`:
        the earlier time, in seconds since the epoch.

        Returns False by default. An override must return False when in doubt. Only tools that are
        deterministic and only read may override this method. It must return at once, because it runs on the
        event loop.
        """
        del action, since
        return False

    def parameters(self) -> dict[str, JsonValue]:
        """Returns the JSON Schema of the arguments: an object with `properties`. The schema has the field
        `required` if an argument is required.
        """
        return parameters_of(self.action_type)

    def parameter_names(self) -> Collection[str]:
        return self.action_type.model_fields

    def reported(self) -> Mapping[str, object]:
        """Returns the fields that clients of the agent server get about this kind of tool, in addition to the
        fields of every tool. By default there are none. An MCP tool, for example, adds the definition that
        its server gives.
        """
        return {}

    def parse(self, arguments: Mapping[str, JsonValue]) -> ActionT:
        """Converts the model's arguments to an Action object.

        Raises pydantic.ValidationError or ToolArgumentError if the arguments do not fit the tool.
        """
        return self.action_type.model_validate(arguments)

    def touches(self, action: ActionT, observation: Mapping[str, JsonValue]) -> Sequence[Path]:
        """Returns the absolute paths of the files that the call used. The caller uses these paths to find the
        project's instructions for the files, and adds the instructions to the result for the model.

        `observation`: the result in the event log. Must not raise an error.
        """
        del observation
        return [path for claim in self.claims(action) if (path := claim.path) is not None]

    def holds_work(self) -> bool:
        """Returns whether something that the tool has started still runs between calls, for example a server
        in a shell. While this is the case, the conversation is not closed automatically, because the tool's
        method `close` would end that server.
        """
        return False

    async def close(self) -> None:
        """Releases all resources of the tool. Safe to call twice."""
        return


AnyTool = Tool[Any]


def hinted(annotations: ToolAnnotations) -> Sequence[Effect]:
    """Returns the effects that a tool call has according to the tool's annotations. A call of a tool that
    only reads has no effects. If the tool may destroy something or has no annotations, the effects are
    unknown. A call of any other tool has one effect: it changes something. Use this function only for tools
    whose author is trusted, because the annotations are not checked.
    """
    if annotations.readOnlyHint:
        return NO_EFFECTS
    if annotations.destructiveHint or not annotations.model_fields_set - {"title"}:
        return UNDECLARED
    return (Acts("changes something"),)


def _declared_action(tool: type[AnyTool]) -> type[Any] | None:
    """Returns the action class that a tool class declares, for example `MyAction` for `class
    MyTool(Tool[MyAction])`. Returns None if the tool class declares no action class.
    """
    bases = [base for base in tool.__dict__.get("__orig_bases__", ()) if get_origin(base) is Tool]
    found = get_args(bases[0])[0] if bases else None
    return found if isinstance(found, type) else None
