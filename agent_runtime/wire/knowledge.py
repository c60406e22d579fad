"""The models of the skills (texts with instructions for an agent) and hooks (commands, or questions to a
model) in a project, and of the reasons why each skill was loaded or not.
"""

from typing import Literal

from pydantic import (
    BaseModel,
    Field,
)

from agent_runtime.events.base import JsonObject


class HooksRequest(BaseModel):
    """The request body of POST /api/hooks: the directory of the project whose hooks are listed. Null means
    the workspace of the server.
    """

    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class HooksResponse(BaseModel):
    """The reply of POST /api/hooks: the hooks (commands, or questions to a model) that the project's files
    define. These hooks run only if a client passes them in the request that creates a conversation.
    `hook_config`: null if the project has no hooks.
    """

    hook_config: JsonObject | None


class SkillsRequest(BaseModel):
    """The request body of POST /api/skills: the sources in which to look for skills (texts with instructions
    for an agent). Each field `load_…` chooses one source. If this server has no skills from a source, the
    field has no effect. `project_dir`: the directory of the project; null means the workspace of the server.
    """

    load_project: bool = True
    load_user: bool = True
    load_org: bool = True
    load_public: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class SkillInputInfo(BaseModel):
    """One argument of a task skill (a skill that a user calls by name). A user writes the arguments after the
    skill's name, in order or as `name=value`.
    """

    name: str
    description: str = ""
    required: bool = True
    default: str | None = None


class SkillInfo(BaseModel):
    """The description of one skill (a text with instructions for an agent).

    `type`: `repo` skills are always in the prompt. The text of a `knowledge` skill is added to the prompt
    when a message contains one of its trigger words. The agent itself reads the text of an `agentskills`
    skill when it needs the skill.
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
    """The result for one file or directory in which the server looked for a skill. `is_loaded`: whether the
    skill was loaded. `reason`: why the skill was loaded, or why not.

    `origin`: where the skill comes from, such as `project`, `user` or `organisation`.
    """

    path: str
    name: str | None = None
    origin: str = "project"
    is_loaded: bool
    reason: str


class SkillsResponse(BaseModel):
    """The reply of POST /api/skills and of GET /api/conversations/{id}/skills: the skills that were found.
    `sources`: the number of loaded skills from each source. `report`: for each file or directory, why a skill
    was loaded from it, or why not.
    """

    skills: list[SkillInfo]
    sources: dict[str, int] = {}
    report: list[SkillFinding] = []
