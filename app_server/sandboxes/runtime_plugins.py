"""VS Code, the desktop and what else runs beside the agent server of a sandbox: for its owner."""

from collections.abc import Collection
from typing import Literal
from urllib.parse import quote

from agent_runtime.wire import RuntimePluginInfo
from app_server.core.config import Config
from app_server.core.errors import Forbidden, Unavailable
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.schemas import RuntimePluginStarted
from app_server.sandboxes.service import Sandboxes

RuntimePluginName = Literal["vscode", "desktop", "browser", "jupyter"]

_TOOLS = {"browser": "browser_tool_set", "jupyter": "execute_ipython_cell"}
"""What an agent has of them."""

_NOT_OFFERED_FIX = "Start a conversation from a sandbox image that offers it."

_OF_THE_IMAGE = frozenset({"vscode_unavailable", "desktop_unavailable", "browser_unavailable"})


async def list_runtime_plugins(
    sandboxes: Sandboxes, sandbox: Sandbox, config: Config
) -> list[RuntimePluginInfo]:
    """Raises Conflict `sandbox_not_running`."""
    found = await sandboxes.client(sandbox.id).runtime_plugins()
    help_here = how_to_get(sandbox.spec_id, config)
    return [_as_offered(one, sandbox, help_here) for one in found]


async def start_runtime_plugin(
    sandboxes: Sandboxes, sandbox: Sandbox, name: str, config: Config, folder: str | None
) -> RuntimePluginStarted:
    """It, running; a sandbox that sleeps is woken for it. folder: what it is to show.

    Raises Forbidden `runtime_plugin_not_offered`, Conflict `sandbox_not_running`, and what
    AgentClient.start_runtime_plugin does.
    """
    require_offered(sandbox, name)
    await sandboxes.wake(sandbox.id)
    try:
        started = await sandboxes.client(sandbox.id).start_runtime_plugin(name)
    except Unavailable as absent:
        help_here = how_to_get(sandbox.spec_id, config)
        if absent.code not in _OF_THE_IMAGE or help_here is None:
            raise
        raise Unavailable(absent.detail, code=absent.code, fix=help_here) from absent
    return RuntimePluginStarted(**started.model_dump(), path=path_of(name, folder))


def require_offered(sandbox: Sandbox, name: str) -> None:
    """Raises Forbidden `runtime_plugin_not_offered`."""
    if not is_offered(sandbox, name):
        raise Forbidden(_why_not(name), code="runtime_plugin_not_offered", fix=_NOT_OFFERED_FIX)


def is_offered(sandbox: Sandbox, name: str) -> bool:
    """Whether what it was started from names it, or names none."""
    return sandbox.runtime_plugins is None or name in sandbox.runtime_plugins


def tools_offered(sandbox: Sandbox, usable: Collection[str]) -> frozenset[str]:
    """Of the tools that can be used there, those that do not need a plugin that is not offered."""
    return frozenset(usable) - {tool for name, tool in _TOOLS.items() if not is_offered(sandbox, name)}


def _as_offered(plugin: RuntimePluginInfo, sandbox: Sandbox, help_here: str | None) -> RuntimePluginInfo:
    if not is_offered(sandbox, plugin.name):
        refused = {"status": "unavailable", "reason": _why_not(plugin.title), "fix": _NOT_OFFERED_FIX}
        return plugin.model_copy(update=refused)
    if plugin.status == "unavailable" and help_here:
        return plugin.model_copy(update={"fix": help_here})
    return plugin


def _why_not(name: str) -> str:
    return f"The sandbox image of this conversation does not offer {name}."


def how_to_get(spec_id: str, config: Config) -> str | None:
    """For those who choose the images of containers; None where what the agent server says holds."""
    if spec_id == PROCESS:
        return None
    if config.sandbox_image:
        return (
            f"Build {config.sandbox_image} from an image of the flavour full, then start a new conversation."
        )
    if config.sandbox_flavour == "full":
        return "This sandbox was made from an older image: a new conversation has it."
    return "Restart Slipway with SLIPWAY_SANDBOX_FLAVOUR=full: new conversations have it."


def path_of(name: str, folder: str | None) -> str:
    """Where a link to it leads."""
    return f"/?folder={quote(folder)}" if name == "vscode" and folder else "/"
