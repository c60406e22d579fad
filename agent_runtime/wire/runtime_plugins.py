"""Programs that run beside the agent server, for people or for tools."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

RuntimePluginStatus = Literal["unavailable", "stopped", "starting", "running", "ready"]


class RuntimePluginInfo(BaseModel):
    """One runtime plugin.

    status: `ready` means that tools start it themselves. All others are started by a request to their route.
    port: its port number in the relay of ports; null if people cannot open it.
    reason, fix: why the plugin is unavailable, and how to make it available.
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
