"""Creates and removes the git work trees of conversations whose request has the option `worktree`. Each work
tree has a separate branch.
"""

import asyncio
import os
from pathlib import Path
from uuid import UUID, uuid4

from agent_runtime.server.conversations.catalog import ConversationSortOrder
from agent_runtime.server.conversations.registry import Registry
from agent_runtime.server.errors import ServerProblem
from agent_runtime.wire import StartConversationRequest, WorktreeOptions
from agent_runtime.workspace import work_tree
from agent_runtime.workspace.git import GitError, NotARepositoryError, default_branch, run_git, top_level

_ALL = 1_000_000


class WorkTrees:
    """An object that creates and removes the git work trees of conversations.

    The path of a work tree is `root`/<conversation id>/<name of the repository>.
    """

    def __init__(self, registry: Registry, root: Path) -> None:
        self._registry = registry
        self._root = root
        self._making = asyncio.Lock()

    async def prepare(self, request: StartConversationRequest) -> StartConversationRequest:
        """Creates a git work tree for a new conversation, if the request has the option `worktree`. Returns a
        copy of the request that has a conversation id and the work tree as its workspace. Raises
        ServerProblem 422 `worktree_failed` if the work tree cannot be created.

        If the workspace is not in a git repository, or the repository has no commit, no work tree is created
        and the workspace stays the same. A request without the option is returned unchanged.
        """
        if not request.worktree:
            return request
        conversation_id = request.conversation_id or uuid4()
        directory = Path(request.workspace.working_dir)
        async with self._making:  # two requests for one conversation get one work tree
            try:
                worktree_path = await self._make(directory, conversation_id, request.worktree_options)
            except (GitError, OSError) as error:
                raise ServerProblem(
                    422,
                    "worktree_failed",
                    f"No work tree can be made: {error}",
                    "Look at `worktree_options`, or start without `worktree`.",
                ) from error
        workspace = request.workspace
        if worktree_path is not None:
            workspace = workspace.model_copy(update={"working_dir": str(worktree_path)})
        return request.model_copy(update={"conversation_id": conversation_id, "workspace": workspace})

    async def discard(self, request: StartConversationRequest) -> None:
        """Removes the git work tree that was made for a conversation, because the conversation could not be
        started. `request`: the request for the conversation.
        """
        if request.worktree and not (request.conversation_id and self._registry.has(request.conversation_id)):
            await self.tidy(Path(request.workspace.working_dir))

    async def tidy(self, working_dir: Path) -> None:
        """Removes the git work tree that contains the directory `working_dir`, unless another conversation
        still works in this work tree.

        A work tree with uncommitted changes is not removed. The branch of the work tree is removed only if it
        is merged.
        """
        home = self._home_of(working_dir)
        if home is None or await self._is_used(home):
            return
        for directory in await asyncio.to_thread(_directories, home):
            if await work_tree.remove(directory):
                await asyncio.to_thread(_remove_if_empty, home)

    async def _make(
        self, directory: Path, conversation_id: UUID, options: WorktreeOptions | None
    ) -> Path | None:
        options = options or WorktreeOptions()
        try:
            top = await top_level(directory)
        except NotARepositoryError:
            return None
        worktree_path = self._root / str(conversation_id) / top.name
        if await asyncio.to_thread(worktree_path.exists):
            prefix = await run_git(directory, "rev-parse", "--show-prefix")
            return worktree_path / os.fsdecode(prefix).strip("\n/")
        start = {"head": "HEAD", "ref": options.ref}.get(options.base) or await default_branch(top)
        branch = f"{options.branch_prefix}{conversation_id}"
        try:
            return await work_tree.add(directory, worktree_path, branch, start)
        except GitError:
            await asyncio.to_thread(_remove_if_empty, worktree_path.parent)
            raise

    def _home_of(self, working_dir: Path) -> Path | None:
        try:
            name = working_dir.relative_to(self._root).parts[0]
            # Work trees of child conversations have other names and are removed with these.
            return self._root / name if name == str(UUID(name)) else None
        except (ValueError, IndexError):
            return None

    async def _is_used(self, home: Path) -> bool:
        """Returns whether any conversation works in a directory below `home`. `home`: the directory that
        contains the work trees of one conversation. Other conversations may work there, too. For example, a
        fork works in the work tree of the original conversation.
        """
        page = await self._registry.catalog.search(
            status=None, order=ConversationSortOrder.CREATED_AT, page_id=None, limit=_ALL
        )
        return any(Path(one.workspace.working_dir).is_relative_to(home) for one in page.items)


def _directories(home: Path) -> list[Path]:
    return [one for one in home.iterdir() if one.is_dir()] if home.is_dir() else []


def _remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()
