"""The instructions and skills of an agent. Some are always in the system prompt, some are added to a message
that contains a keyword, and some are read by the agent with a tool.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.context.skill_inputs import Filled, SkillInput, fill
from agent_runtime.context.system_prompt import render
from agent_runtime.events.base import JsonObject
from agent_runtime.events.content import TextContent
from agent_runtime.tools.memory.notes import Note
from agent_runtime.tools.memory.relevance import most_relevant
from agent_runtime.untrusted_text import of_repository

MAX_RELEVANT_NOTES = 3

Origin = Literal["client", "project", "user", "organisation", "public", "memory"]

SkillType = Literal["repo", "knowledge", "agentskills"]


class Skill(BaseModel):
    """A skill: a text with instructions or knowledge for the agent.

    `type`: says when the model gets the text. A `repo` skill is always in the system prompt. A `knowledge`
    skill is added to a message that contains one of the skill's triggers, or to the result of a tool call
    that involves one of the skill's paths. An `agentskills` skill is listed with its description, and the
    agent reads its text with the tool `invoke_skill`; it may have triggers, too.

    `triggers`: words or phrases. A trigger that begins with a slash, such as `/release`, must be the first
    word of the message; the user may write values for the skill's inputs after it. `paths`: globs of files,
    relative to the directory `paths_below`, or to the working directory if `paths_below` is None. `origin`:
    who provides the skill, such as the project or the user. `source`: the file or URL from which the skill
    was read. `directory`: the directory with the skill's other files.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    type: SkillType
    content: str
    triggers: tuple[str, ...] = ()
    inputs: tuple[SkillInput, ...] = ()
    paths: tuple[str, ...] = ()
    paths_below: str | None = None
    origin: Origin = "client"
    source: str | None = None
    description: str | None = None
    directory: str | None = None

    @classmethod
    def of_protocol(cls, given: JsonObject) -> "Skill":
        """Creates a skill from the JSON object that a client has sent. Raises pydantic.ValidationError if the
        object is not valid.
        """
        trigger = given.get("trigger")
        trigger = trigger if isinstance(trigger, dict) else {}
        keywords = trigger.get("keywords") or trigger.get("triggers") or ()
        paths = trigger.get("paths") or ()
        is_on_request = bool(given.get("is_agentskills_format")) and not paths
        kind: SkillType = "agentskills" if is_on_request else "knowledge" if keywords or paths else "repo"
        fields = {**given, "type": kind, "triggers": keywords, "paths": paths, "origin": "client"}
        return cls.model_validate(fields)

    @property
    def is_of_repository(self) -> bool:
        return self.origin == "project"

    def prompt_text(self, text: str | None = None) -> str:
        """Returns the text of the skill as the model sees it. If the skill comes from the repository, the
        result has a mark before and after the text; the marks tell the model that the text comes from the
        repository.

        `text`: the skill's text in which the values of its inputs are inserted. None means the original text,
        in which the placeholders of the inputs are not replaced.
        """
        full_text = self.content if text is None else text
        return of_repository(full_text, self.name) if self.is_of_repository else full_text

    def as_read(self) -> "Skill":
        """Returns a copy of the skill with the text that the agent gets when the agent itself, and not the
        user, calls the skill. In this text, the inputs have their default values, and the required inputs
        without a value are listed.
        """
        filled = fill(self.content, self.inputs, "")
        content = render("read_skill.j2", text=self.prompt_text(filled.text), missing=_missing(self, filled))
        return self.model_copy(update={"content": content})


class SkillDiscovery(BaseModel):
    """A report about one file, or another source, that was searched for skills, instructions or memory notes
    (texts that agents have written for later conversations). `is_loaded`: whether the agent gets the content.
    `reason`: why the agent gets the content, or why not.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    name: str | None = None
    origin: Origin = "project"
    is_loaded: bool
    reason: str


class ProjectContext(BaseModel):
    """The instructions, skills and memory notes that were found for an agent. `skills`: no two have the same
    name. `notes`: texts that agents have written in earlier conversations; None if the agent must not get
    notes. `findings`: what was found in each file or other source that was searched.
    """

    model_config = ConfigDict(frozen=True)

    skills: tuple[Skill, ...] = ()
    notes: tuple[Note, ...] | None = None
    findings: tuple[SkillDiscovery, ...] = ()

    def of_type(self, wanted: SkillType) -> list[Skill]:
        return [skill for skill in self.skills if skill.type == wanted]


class SkillFile(BaseModel):
    """The content of a skill file that the app server sends to the agent server. If the app server could not
    read the file, `text` is None and `problem` gives the reason. `path`: the path that is shown to users.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    origin: Literal["user", "organisation", "public"]
    path: str
    text: str | None = None
    problem: str | None = None


class AgentContext(BaseModel):
    """The skills and texts that a client adds for an agent, and settings that say which other skills are
    loaded. Unknown fields are stored unchanged.

    `skills`: complete skills as JSON. `skill_files`: skill files that the app server sends.
    `system_message_suffix`, `user_message_suffix`: texts that are added to the end of the system prompt and
    of each user message. `further_projects`: the directories of additional repositories, whose skills are
    also loaded. `load_project_skills`, `load_user_skills`, `load_org_skills`, `load_public_skills`: whether
    the skills of the project, the user, the organisation and the public are loaded. `load_memory`: whether
    memory notes (texts of agents in earlier conversations) are loaded. `disabled_skills`: the names of skills
    that are not loaded.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    skills: list[dict[str, Any]] = []
    skill_files: list[SkillFile] = Field(default=[], description="What is found only once: not kept")
    system_message_suffix: str | None = None
    user_message_suffix: str | None = None
    load_project_skills: bool = False
    further_projects: list[str] = Field(
        default=[], description="Absolute paths of further repositories whose skills are loaded, too"
    )
    load_user_skills: bool = False
    load_org_skills: bool = False
    load_public_skills: bool = False
    load_memory: bool = Field(default=False, description="Whether the agent keeps and is given notes")
    disabled_skills: list[str] = Field(default=[], description="Names that are not loaded, wherever found")


NO_CONTEXT = AgentContext()


def render_project_context(context: ProjectContext) -> str:
    """Returns the part of the system prompt that contains the project's instructions and the list of skills.
    Returns an empty text if there are no instructions and no skills.
    """
    rules = [skill for skill in context.skills if skill.paths]
    return render(
        "project_context.j2",
        has_repository_texts=any(skill.is_of_repository for skill in context.skills),
        instructions=context.of_type("repo"),
        rules=_listed(rules, lambda one: f"- {', '.join(one.paths)}: {one.name}"),
        skills=_listed(context.of_type("agentskills"), lambda one: f"- {one.name}: {one.description or ''}"),
        notes=context.notes,
    ).strip()


def _listed(skills: Sequence[Skill], line: Callable[[Skill], str]) -> str:
    """Returns a list of skills as text, with one line per skill. Skills that come from the repository are at
    the end, between marks that tell the model where these lines come from. `line`: returns the line for a
    skill.
    """
    lines = [line(one) for one in skills if not one.is_of_repository]
    marked = [line(one) for one in skills if one.is_of_repository]
    return "\n".join([*lines, *([of_repository("\n".join(marked), "their list")] if marked else [])])


def triggered(skills: Iterable[Skill], text: str, *, known: Collection[str]) -> list[tuple[Skill, str]]:
    """Returns the skills whose triggers occur in a message, each with the trigger. Leaves out the skills in
    `known`, which the model already has. A skill with inputs is returned even if it is in `known`, because
    its inputs may have different values in each message.

    Upper and lower case are not distinguished. A trigger is found anywhere in the message, also inside a
    word. But a trigger that begins with a slash must be the first word of the message.
    """
    wanted = (skill for skill in skills if skill.inputs or skill.name not in known)
    found = [(skill, _trigger_in(text, skill.triggers)) for skill in wanted]
    return [(skill, trigger) for skill, trigger in found if trigger is not None]


def render_knowledge(found: Sequence[tuple[Skill, str]], text: str) -> list[TextContent]:
    """Returns the texts of the skills that a user's message has triggered. The model gets these texts
    together with the message. `found`: the skills with their triggers. `text`: the text of the message;
    values for the inputs of a skill are read from it.
    """
    return [TextContent(text=_render_one(skill, trigger, text)) for skill, trigger in found]


def render_notes(notes: Sequence[Note], text: str) -> list[TextContent]:
    """Returns a list with one text that contains the memory notes which fit the user's message `text` best.
    Memory notes are texts that agents have written in earlier conversations.

    A note fits if it contains at least one word of the message; common words such as "the" do not count. At
    most MAX_RELEVANT_NOTES notes are used. Returns an empty list if no note fits.
    """
    found = most_relevant(notes, text, MAX_RELEVANT_NOTES)
    return [TextContent(text=render("memory_notes.j2", notes=found))] if found else []


def _render_one(skill: Skill, trigger: str, text: str) -> str:
    words = text.strip()[len(trigger.strip()) :] if _is_call(trigger) else ""
    filled = fill(skill.content, skill.inputs, words)
    return render(
        "knowledge.j2",
        skill=skill,
        trigger=trigger,
        text=skill.prompt_text(filled.text),
        missing=_missing(skill, filled),
    )


def _missing(skill: Skill, filled: Filled) -> str:
    """Returns a text with one line for each required input of the skill that has no value. Returns an empty
    text if there is no such input. `filled`: the skill's text with the values of its inputs.
    """
    lines = (
        f"- {one.name}: {one.description}" if one.description else f"- {one.name}" for one in filled.missing
    )
    text = "\n".join(lines)
    return skill.prompt_text(text) if text else ""


def _trigger_in(text: str, triggers: Iterable[str]) -> str | None:
    said = text.casefold()
    first_word = next(iter(said.split()), "")
    for trigger in triggers:
        wanted = trigger.casefold().strip()
        if wanted and (wanted == first_word if _is_call(trigger) else wanted in said):
            return trigger
    return None


def _is_call(trigger: str) -> bool:
    return trigger.strip().startswith("/")
