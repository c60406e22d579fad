"""Finds plugins (skills, hooks, sub-agents and MCP servers) by name or by source: plugins that were fetched
from repositories (stored once per commit), and plugins in directories of this machine.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent_runtime.plugins.apply import with_plugins
from agent_runtime.plugins.fetch import Fetched, fetch
from agent_runtime.plugins.plugin import (
    Plugin,
    PluginError,
    PluginNotFetchedError,
    PluginNotFoundError,
    TrustGrantRequiredError,
    is_plugin,
    load,
)
from agent_runtime.wire import PluginSource, StartConversationRequest

DIRECTORIES = (".agents/plugins", ".openhands/plugins")
FETCH_SECONDS = 60.0
# Characters that every source contains and no name contains.
_SOURCE = re.compile(r"[/:]")


class PluginStore:
    """The store of the plugins (skills, hooks, sub-agents and MCP servers) that conversations can use. The
    object finds plugins on this machine and fetches plugins from repositories.

    `directory`: the directory where fetched plugins are stored. It has one subdirectory per repository, which
    has one subdirectory per commit. `workspace`: the directory where `local` searches for a project's plugins
    if its argument `project` is None.
    """

    def __init__(self, directory: Path, workspace: Path) -> None:
        self._directory = directory
        self._workspace = workspace

    async def expand(self, request: StartConversationRequest) -> StartConversationRequest:
        """Fetches the plugins that the request names, and returns a copy of the request that contains all
        parts of these plugins. In the copy, the field `ref` of each plugin from a repository is the fetched
        commit, so that the same version is used again later. Raises PluginError if a plugin cannot be fetched
        or loaded.
        """
        if not request.plugins:
            return request
        fetched = [await self.fetch(source) for source in request.plugins]
        plugins = [await self.load(one) for one in fetched]
        pinned = [
            source.model_copy(update={"ref": one.commit or source.ref})
            for source, one in zip(request.plugins, fetched, strict=True)
        ]
        return with_plugins(request.model_copy(update={"plugins": pinned}), plugins)

    async def fetch(self, source: PluginSource, seconds: float = FETCH_SECONDS) -> Fetched:
        """Fetches a plugin and returns its directory and its commit. `seconds`: the time limit of each git
        command. Raises PluginNotFetchedError if the plugin cannot be fetched.
        """
        try:
            return await fetch(
                source.source,
                ref=source.ref,
                repo_path=source.repo_path,
                store=self._directory,
                timeout_seconds=seconds,
            )
        except PluginNotFetchedError as error:
            raise type(error)(f"{source.source}: {error}") from error

    async def load(self, fetched: Fetched) -> Plugin:
        return await asyncio.to_thread(load, fetched.path)

    async def find(self, ref: str, project: Path) -> Plugin:
        """Finds a plugin, loads it and returns it. `ref`: the name of a plugin in the user's home directory,
        or a source (a repository or directory) from which the plugin is fetched. `project`: the project's
        directory.

        Raises TrustGrantRequiredError if `ref` is the name of a plugin in the project's directory, because
        such a plugin needs the user's consent. Raises a PluginError of another class if the plugin cannot be
        found, fetched or loaded.
        """
        for plugin in await asyncio.to_thread(self.local, project, with_user=True):
            if plugin.name == ref and not plugin.path.is_relative_to(project):
                return plugin
            if plugin.name == ref:
                raise TrustGrantRequiredError(
                    f"The plugin {ref} is a part of the project: it is loaded with consent to what it is now."
                )
        if not _SOURCE.search(ref):
            raise PluginNotFoundError(f"There is no plugin {ref} here.")
        return await self.load(await self.fetch(PluginSource(source=ref)))

    def local(self, project: Path | None, *, with_user: bool) -> list[Plugin]:
        """Returns the plugins in the project's directory and in the user's home directory. If both have a
        plugin of the same name, returns only the project's plugin. Plugins that cannot be loaded are left
        out. The function blocks.

        `project`: the project's directory; None means the directory `workspace` that the constructor got.
        `with_user`: whether the plugins in the user's home directory are included.
        """
        tops = [project or self._workspace, *([Path.home()] if with_user else [])]
        found: dict[str, Plugin] = {}
        for plugin in _loadable(Path(top, name) for top in tops for name in DIRECTORIES):
            found.setdefault(plugin.name, plugin)
        return list(found.values())


def _loadable(directories: Iterable[Path]) -> Iterator[Plugin]:
    for directory in directories:
        if not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            if is_plugin(path):
                try:
                    yield load(path)
                except PluginError:  # named by no list: reported when it is asked for
                    continue
