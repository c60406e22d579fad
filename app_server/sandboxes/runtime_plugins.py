"""VS Code, the desktop and what else runs beside the agent server of a sandbox: for its owner."""

from urllib.parse import quote

from agent_runtime.wire import RuntimePluginInfo
from app_server.config import Config
from app_server.errors import Unavailable
from app_server.sandboxes.models import Sandbox
from app_server.sandboxes.process import SPEC_ID as PROCESS
from app_server.sandboxes.schemas import RuntimePluginStarted
from app_server.sandboxes.service import Sandboxes

_OF_THE_IMAGE = frozenset({"vscode_unavailable", "desktop_unavailable", "browser_unavailable"})


async def list_runtime_plugins(
    sandboxes: Sandboxes, sandbox: Sandbox, config: Config
) -> list[RuntimePluginInfo]:
    """Raises Conflict `sandbox_not_running`."""
    found = await sandboxes.client(sandbox.id).runtime_plugins()
    help_here = how_to_get(sandbox.spec_id, config)
    return [
        one.model_copy(update={"fix": help_here}) if one.status == "unavailable" and help_here else one
        for one in found
    ]


async def start_runtime_plugin(
    sandboxes: Sandboxes, sandbox: Sandbox, name: str, config: Config, folder: str | None
) -> RuntimePluginStarted:
    """It, running; a sandbox that sleeps is woken for it. folder: what it is to show.

    Raises Conflict `sandbox_not_running`, and what AgentClient.start_runtime_plugin does.
    """
    await sandboxes.wake(sandbox.id)
    try:
        started = await sandboxes.client(sandbox.id).start_runtime_plugin(name)
    except Unavailable as absent:
        help_here = how_to_get(sandbox.spec_id, config)
        if absent.code not in _OF_THE_IMAGE or help_here is None:
            raise
        raise Unavailable(absent.detail, code=absent.code, fix=help_here) from absent
    return RuntimePluginStarted(**started.model_dump(), path=path_of(name, folder))


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
