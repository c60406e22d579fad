"""What an agent knows of a project: skills and hooks, and why."""

from typing import Literal

from pydantic import (
    BaseModel,
    Field,
)

from agent_runtime.events.base import JsonObject


class HooksRequest(BaseModel):
    """Whose hooks to look up."""

    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class HooksResponse(BaseModel):
    """What the project suggests. None of it runs unless it comes back with a new conversation."""

    hook_config: JsonObject | None


class SkillsRequest(BaseModel):
    """Which sources of skills to look at. Those that this server does not have are not looked at."""

    load_project: bool = True
    load_user: bool = True
    load_org: bool = True
    load_public: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class SkillInputInfo(BaseModel):
    """What is written after a task skill's name, in order or as `name=value`."""

    name: str
    description: str = ""
    required: bool = True
    default: str | None = None


class SkillInfo(BaseModel):
    """type: `repo` always holds, `knowledge` comes with its triggers, `agentskills` is read on request."""

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
    """A place that was looked at, and why it was loaded or not. origin: whose it is, see docs/context.md."""

    path: str
    name: str | None = None
    origin: str = "project"
    is_loaded: bool
    reason: str


class SkillsResponse(BaseModel):
    """sources: how many were loaded of each origin."""

    skills: list[SkillInfo]
    sources: dict[str, int] = {}
    report: list[SkillFinding] = []
