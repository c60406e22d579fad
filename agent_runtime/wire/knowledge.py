"""The skills and hooks of a project, and the reasons why each skill was loaded or not."""

from typing import Literal

from pydantic import (
    BaseModel,
    Field,
)

from agent_runtime.events.base import JsonObject


class HooksRequest(BaseModel):
    """The project whose hooks are looked up."""

    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class HooksResponse(BaseModel):
    """The hooks that the project suggests. They run only if a client passes them to a new conversation."""

    hook_config: JsonObject | None


class SkillsRequest(BaseModel):
    """The sources in which to look for skills. Sources that this server does not have are skipped."""

    load_project: bool = True
    load_user: bool = True
    load_org: bool = True
    load_public: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class SkillInputInfo(BaseModel):
    """One argument of a task skill. A user writes it after the skill's name, in order or as `name=value`."""

    name: str
    description: str = ""
    required: bool = True
    default: str | None = None


class SkillInfo(BaseModel):
    """One skill.

    type: `repo` skills always apply; the text of `knowledge` skills is added when a trigger occurs; the agent
    reads `agentskills` when it needs them.
    """

    name: str
    type: Literal["repo", "knowledge", "agentskills"]
    content: str
    triggers: list[str] = []
    inputs: list[SkillInputInfo] = []
    paths: list[str] = []
    source: str | None = None
    description: str | None = None
    is_agentskills_format: bool = False
    disable_model_invocation: bool = False


class SkillFinding(BaseModel):
    """A place where a skill was looked for, and the reason why it was loaded or not.

    origin: the owner of the skill (docs/context.md).
    """

    path: str
    name: str | None = None
    origin: str = "project"
    is_loaded: bool
    reason: str


class SkillsResponse(BaseModel):
    """The skills that were found. sources: the number of loaded skills of each origin."""

    skills: list[SkillInfo]
    sources: dict[str, int] = {}
    report: list[SkillFinding] = []
