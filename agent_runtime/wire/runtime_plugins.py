"""What runs beside the agent server for people or for tools."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

RuntimePluginStatus = Literal["unavailable", "stopped", "starting", "running", "ready"]


class RuntimePluginInfo(BaseModel):
    """status: `ready` are those that tools start for themselves; the others are started by their route.

    port: the one under which the relay of ports knows it, if people can open it. reason, fix: why it is
    unavailable, and how to get it.
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
