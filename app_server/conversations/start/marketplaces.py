"""Adds the plugins and skills of the user's default marketplaces to a new conversation. A marketplace is a
git repository that lists plugins and skills; every new conversation uses the default marketplaces.
"""

from pydantic import ValidationError

from app_server.conversations.models import StartTask
from app_server.conversations.protocol_schemas import PluginSpec
from app_server.conversations.schemas import MAX_PLUGINS, StartRequest
from app_server.conversations.start.context import Start
from app_server.git.pinned_git import guard_for
from app_server.marketplaces.index import MarketplacePlugin
from app_server.marketplaces.service import Loaded, load, loaded_by_default


async def load_defaults(start: Start) -> Loaded:
    """Reads the user's default marketplaces and returns their present plugins and skills. Default
    marketplaces are those that every new conversation of the user uses. The user has registered them, or an
    administrator has registered them for all users.
    """
    async with start.database.read() as session:
        marketplaces = await loaded_by_default(session, start.user_id)
    if not marketplaces:
        return Loaded()
    start.progress.say(f"Reading marketplaces: {', '.join(each.name for each in marketplaces)}")
    return await load(marketplaces, guard_for(start.config, administers=start.administers))


def with_plugins(
    request: StartRequest, plugins: tuple[MarketplacePlugin, ...]
) -> tuple[StartRequest, list[str]]:
    """Returns a copy of the start request to which these plugins are added. Also returns a sentence about
    each plugin that is left out because its source is not usable or the request has too many plugins.
    """
    wanted = list(request.plugins or ())
    problems: list[str] = []
    for plugin in plugins:
        try:
            spec = PluginSpec(source=plugin.source, ref=plugin.ref, repo_path=plugin.repo_path)
        except ValidationError:
            problems.append(f"The plugin {plugin.name} has a source that cannot be used here.")
            continue
        if any((spec.source, spec.repo_path) == (each.source, each.repo_path) for each in wanted):
            continue
        if len(wanted) == MAX_PLUGINS:
            problems.append(
                f"The plugin {plugin.name} is left out: a conversation has {MAX_PLUGINS} at most."
            )
            continue
        wanted.append(spec)
    return request.model_copy(update={"plugins": wanted or None}), problems


async def keep_plugins(start: Start, request: StartRequest) -> None:
    """Stores the plugins of the request in the conversation's start task, the record of its start. If the
    conversation has begun and must be created at the agent server again, it gets the same plugins, even if
    the marketplaces then list others.
    """
    if request.plugins == start.request.plugins:
        return
    stored_plugins = [each.model_dump(mode="json") for each in request.plugins or ()]
    async with start.database.session() as session:
        task = await session.get_one(StartTask, start.id)
        task.request = {**task.request, "plugins": stored_plugins}
