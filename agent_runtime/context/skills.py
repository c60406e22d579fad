"""What an agent is told of a project: instructions, knowledge that keywords bring up, skills on request."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.context.system_prompt import render
from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import TextContent

SkillType = Literal["repo", "knowledge", "agentskills"]


class Skill(BaseModel):
    """repo: always in the system prompt. knowledge: added to a message that has one of its triggers.
    agentskills: listed by its description, read with `invoke_skill`; it may have triggers, too.

    source: where it comes from, a path if it is a file. directory: where its further files lie.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    type: SkillType
    content: str
    triggers: tuple[str, ...] = ()
    source: str | None = None
    description: str | None = None
    directory: str | None = None

    @classmethod
    def of_protocol(cls, given: JsonObject) -> "Skill":
        """A skill as a client sends it. pydantic.ValidationError when it is none."""
        trigger = given.get("trigger")
        trigger = trigger if isinstance(trigger, dict) else {}
        keywords = trigger.get("keywords") or trigger.get("triggers") or ()
        is_on_request = bool(given.get("is_agentskills_format"))
        kind: SkillType = "agentskills" if is_on_request else "knowledge" if keywords else "repo"
        return cls.model_validate({**given, "type": kind, "triggers": keywords})


class Finding(BaseModel):
    """A place that was looked at, whether it was loaded, and why or why not."""

    model_config = ConfigDict(frozen=True)

    path: str
    name: str | None = None
    is_loaded: bool
    reason: str


class ProjectContext(BaseModel):
    """skills: the names are unique. nested_instructions: files that hold below their own directory."""

    model_config = ConfigDict(frozen=True)

    skills: tuple[Skill, ...] = ()
    nested_instructions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def of_type(self, wanted: SkillType) -> list[Skill]:
        return [skill for skill in self.skills if skill.type == wanted]


class AgentContext(BaseModel):
    """What a client adds to what the agent is told. Fields that are not used here are kept as they came."""

    model_config = ConfigDict(frozen=True, extra="allow")

    skills: list[dict[str, Any]] = []
    system_message_suffix: str | None = None
    user_message_suffix: str | None = None
    load_project_skills: bool = False
    load_user_skills: bool = False
    disabled_skills: list[str] = Field(default=[], description="Names that are not loaded, wherever found")


NO_CONTEXT = AgentContext()


def render_project_context(context: ProjectContext) -> str:
    """The part of the system prompt that tells of the project; empty if there is nothing to tell."""
    return render(
        "project_context.j2",
        instructions=context.of_type("repo"),
        nested=context.nested_instructions,
        skills=context.of_type("agentskills"),
    ).strip()


def triggered(skills: Iterable[Skill], text: str, *, known: Collection[str]) -> list[tuple[Skill, str]]:
    """The skills that a message brings up, each with the trigger. `known` ones have been seen before.

    A trigger is found anywhere, in any case; one that begins with a slash only at the beginning.
    """
    said = text.casefold()
    found = [(skill, _trigger_in(said, skill.triggers)) for skill in skills if skill.name not in known]
    return [(skill, trigger) for skill, trigger in found if trigger is not None]


def render_knowledge(found: Sequence[tuple[Skill, str]]) -> list[TextContent]:
    """What the model is told of them, beside the message."""
    return [
        TextContent(text=render("knowledge.j2", skill=skill, trigger=trigger)) for skill, trigger in found
    ]


def _trigger_in(said: str, triggers: Iterable[str]) -> str | None:
    for trigger in triggers:
        wanted = trigger.casefold().strip()
        is_there = said.lstrip().startswith(wanted) if wanted.startswith("/") else wanted in said
        if wanted and is_there:
            return trigger
    return None
