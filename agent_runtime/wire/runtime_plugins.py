"""The models of runtime plugins: programs such as VS Code that run beside the agent server, for people or for
tools.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

RuntimePluginStatus = Literal["unavailable", "stopped", "starting", "running", "ready"]


class RuntimePluginInfo(BaseModel):
    """The description and the status of one runtime plugin.

    `status`: `ready` means that the plugin need not be started, because the agent's tools start it when they
    use it. All other plugins are started by POST /api/runtime-plugins/{name}/start. `port`: the number with
    which a browser opens the plugin, at /api/ports/{port}/relay; null if people cannot open the plugin.
    `reason`, `fix`: why the plugin is unavailable, and how to make it available.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    status: RuntimePluginStatus
    port: int | None = None
    reason: str | None = None
    fix: str | None = None


class RuntimePluginList(BaseModel):
    items: list[RuntimePluginInfo]
