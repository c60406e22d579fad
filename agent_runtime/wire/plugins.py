"""Plugins: where they come from, what they hold."""

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)

from agent_runtime.events.base import JsonObject


class PluginSource(BaseModel):
    """source: `github:owner/repo` (a path may follow), a git URL, or a directory of the server's machine.

    ref: branch, tag or commit. repo_path: where in the repository it lies.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str = Field(min_length=1, max_length=2048)
    ref: str | None = Field(default=None, min_length=1, max_length=256)
    repo_path: str | None = Field(default=None, max_length=1024)


class FetchPluginRequest(PluginSource):
    timeout: int = Field(default=60, ge=1, le=600, description="Seconds")


class FetchedPlugin(BaseModel):
    """resolved_ref: the commit it is pinned to; null for a directory of the server's machine.

    left_out: what of it could not be used, and why.
    """

    path: str
    resolved_ref: str | None
    source: str
    repo_path: str | None
    manifest: JsonObject
    skills: list[str]
    commands: list[str]
    left_out: list[str] = []


class PluginsRequest(BaseModel):
    load_user: bool = True
    load_project: bool = True
    project_dir: str | None = Field(default=None, min_length=1, max_length=4096)


class PluginSkill(BaseModel):
    name: str
    description: str | None = None


class PluginInfo(BaseModel):
    """left_out: what of it could not be used, and why."""

    name: str
    version: str = ""
    description: str = ""
    path: str = ""
    skills: list[PluginSkill] = []
    files: list[str] = []
    left_out: list[str] = []


class PluginsResponse(BaseModel):
    plugins: list[PluginInfo]


class LoadPluginRequest(BaseModel):
    """plugin_ref: a plugin that lies here, by its name, or a source as of PluginSource."""

    plugin_ref: str = Field(min_length=1, max_length=2048)
