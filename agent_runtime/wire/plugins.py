"""The models of plugins (packages of skills, hooks, sub-agents and MCP servers): the source of a plugin and
the contents of a plugin.
"""

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)

from agent_runtime.events.base import JsonObject


class PluginSource(BaseModel):
    """The source from which a plugin (skills, hooks, sub-agents and MCP servers) is fetched.

    `source`: `github:owner/repo` (a path may follow), a git URL, or a directory on the server's machine.
    `ref`: the branch, tag or commit; null means the default branch. `repo_path`: the plugin's directory in
    the repository; null means the root.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str = Field(min_length=1, max_length=2048)
    ref: str | None = Field(default=None, min_length=1, max_length=256)
    repo_path: str | None = Field(default=None, max_length=1024)


class FetchPluginRequest(PluginSource):
    timeout: int = Field(default=60, ge=1, le=600, description="Seconds")


class FetchedPlugin(BaseModel):
    """The reply of POST /api/plugins/fetch: a plugin that was fetched.

    `resolved_ref`: the commit of the fetched files; null for a directory on the server's machine. `left_out`:
    the parts of the plugin that cannot be used, with the reasons.
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
    """One plugin (skills, hooks, sub-agents and MCP servers) that is on the server's machine. `left_out`: the
    parts that cannot be used, with the reasons.
    """

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
    """The request body of POST /api/conversations/{id}/load_plugin: the plugin to add to the conversation.

    `plugin_ref`: the name of a plugin on the server's machine, or a source as in PluginSource.
    """

    plugin_ref: str = Field(min_length=1, max_length=2048)
