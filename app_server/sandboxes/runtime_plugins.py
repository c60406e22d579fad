"""Lists and starts the runtime plugins of a sandbox (VS Code, the desktop, the browser and Jupyter) for the
user who owns the sandbox.
"""

from collections.abc import Collection, Sequence
from typing import Literal
from urllib.parse import quote

from sqlalchemy import update

from agent_runtime.wire import RuntimePluginInfo
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import Conflict, Forbidden, Unavailable
from app_server.sandbox_backends.process.backend import SPEC_ID as PROCESS
from app_server.sandbox_images.definition import RUNTIME_PLUGINS, flavour_of
from app_server.sandbox_records.models import Sandbox
from app_server.sandbox_records.rows import REMOTE
from app_server.sandboxes.schemas import RuntimePluginStarted
from app_server.sandboxes.service import Sandboxes

RuntimePluginName = Literal["vscode", "desktop", "browser", "jupyter"]

_AT_REST = (
    RuntimePluginInfo(name="vscode", title="VS Code", status="stopped", port=8001),
    RuntimePluginInfo(name="desktop", title="Desktop", status="stopped", port=8002),
    RuntimePluginInfo(name="browser", title="The agent's browser", status="ready"),
    RuntimePluginInfo(name="jupyter", title="Jupyter", status="ready"),
)
"""The descriptions of all runtime plugins (such as VS Code and the desktop), as they are shown while a
sandbox does not run.
"""

_TOOLS = {"browser": "browser_tool_set", "jupyter": "execute_ipython_cell"}
"""The names of the agent's tools that need a runtime plugin (a program such as the browser), by the name of
the plugin.
"""

_NOT_OFFERED_FIX = "Start a conversation from a sandbox image that offers it."

_OF_THE_IMAGE = frozenset({"vscode_unavailable", "desktop_unavailable", "browser_unavailable"})


async def list_runtime_plugins(
    sandboxes: Sandboxes, sandbox: Sandbox, config: Config, database: Database
) -> list[RuntimePluginInfo]:
    """Returns the runtime plugins (programs such as VS Code) of a sandbox.

    If the sandbox does not run, returns the plugins that were found when it last ran. If it has never run,
    returns the plugins that its image contains. Returns an empty list if the plugins of the image are not
    known.
    """
    try:
        client = sandboxes.client(sandbox.id)
    except Conflict:
        found = _found_before(sandbox, config)
    else:
        found = await client.runtime_plugins()
        await remember_plugins(database, sandbox, found)
    help_here = how_to_get(sandbox.spec_id, config)
    return [_as_offered(one, sandbox, help_here) for one in found]


async def remember_plugins(database: Database, sandbox: Sandbox, found: Sequence[RuntimePluginInfo]) -> None:
    """Stores in the database which runtime plugins (programs such as VS Code) the sandbox contains, so that
    they can be listed while the sandbox does not run. `found`: the plugins that the agent server of the
    sandbox reports. Does not store unavailable plugins and plugins that this version of the app server does
    not know.
    """
    present = {one.name for one in found if one.status != "unavailable"}
    names = [one.name for one in _AT_REST if one.name in present]
    if names == sandbox.found_plugins:
        return
    async with database.session() as session:
        await session.execute(update(Sandbox).where(Sandbox.id == sandbox.id).values(found_plugins=names))


def _found_before(sandbox: Sandbox, config: Config) -> list[RuntimePluginInfo]:
    present = _present(sandbox, config)
    if present is None:
        return []
    absent = {"status": "unavailable", "reason": "The image of this sandbox does not have it."}
    return [one if one.name in present else one.model_copy(update=absent) for one in _AT_REST]


def _present(sandbox: Sandbox, config: Config) -> Collection[str] | None:
    """Returns the names of the runtime plugins (programs such as VS Code) of a sandbox that does not run: the
    plugins that were found when it last ran, or else the plugins of its image. Returns None if the plugins of
    the image are not known.
    """
    if sandbox.found_plugins is not None:
        return sandbox.found_plugins
    flavour = flavour_of(sandbox.spec_id.removeprefix(f"{REMOTE}:"))
    is_built_here = sandbox.base_image is not None or not config.sandbox_image
    if sandbox.spec_id in {"docker", REMOTE} and is_built_here:
        # The sandbox has not been started yet.
        flavour = config.sandbox_flavour
    return None if flavour is None else RUNTIME_PLUGINS[flavour]


async def start_runtime_plugin(
    sandboxes: Sandboxes, sandbox: Sandbox, name: str, config: Config, folder: str | None
) -> RuntimePluginStarted:
    """Starts a runtime plugin (a program such as VS Code) and returns its state. Wakes a sleeping sandbox
    first. `folder`: the directory that VS Code shows; None means no particular directory.

    Raises Forbidden `runtime_plugin_not_offered` if the sandbox does not offer this plugin. Raises NotFound
    `runtime_plugin_not_found` if there is no plugin with this name. Raises Conflict `sandbox_not_running` if
    the sandbox neither runs nor sleeps. Raises TooManyRequests `quota_reached` if a sleeping sandbox cannot
    be started because of a quota. Raises Unavailable if the plugin fails to start or is not available in the
    sandbox.
    """
    require_offered(sandbox, name)
    await sandboxes.require_quota(sandbox.id)
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
    """Checks that the sandbox offers the runtime plugin (a program such as VS Code) with this name. Raises
    Forbidden `runtime_plugin_not_offered` if it does not.
    """
    if not is_offered(sandbox, name):
        raise Forbidden(_why_not(name), code="runtime_plugin_not_offered", fix=_NOT_OFFERED_FIX)


def is_offered(sandbox: Sandbox, name: str) -> bool:
    """Returns whether users and agents may use the runtime plugin (a program such as VS Code) with this name
    in the sandbox. The sandbox spec can limit which plugins a sandbox offers; without this limit, all plugins
    are offered. Does not check whether the image contains the plugin.
    """
    return sandbox.runtime_plugins is None or name in sandbox.runtime_plugins


def tools_offered(sandbox: Sandbox, usable: Collection[str]) -> frozenset[str]:
    """Returns the names of the tools that the agent may use in this sandbox. `usable`: the tools that work in
    the sandbox. A tool is left out if it needs a runtime plugin (a program such as the browser) that the
    sandbox does not offer.
    """
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
    """Returns a text that tells an administrator how to make a missing runtime plugin (a program such as VS
    Code) available in sandboxes. Returns None if sandboxes run as processes. They have no image, and the
    agent server itself reports what to install.

    `spec_id`: `process` if the sandbox runs as a process; any other text, such as the name of an image, means
    that it runs in a container.
    """
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
    """Returns the URL path that opens the runtime plugin (a program such as VS Code). For VS Code, the path
    contains `folder`, the directory that VS Code shows; None means no particular directory.
    """
    return f"/?folder={quote(folder)}" if name == "vscode" and folder else "/"
