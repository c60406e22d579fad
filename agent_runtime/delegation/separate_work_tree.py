"""Creates a separate git work tree for a sub-agent, merges the sub-agent's changes into the working directory
of its parent (the conversation that started the sub-agent), and removes the work tree.
"""

import logging
from pathlib import Path
from uuid import UUID

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.event_log.sub_agent_task import Task
from agent_runtime.delegation.host import ConversationHost
from agent_runtime.tools.delegation import DelegationError, Result
from agent_runtime.workspace import sub_agent_work_trees
from agent_runtime.workspace.git import GitError
from agent_runtime.workspace.sub_agent_work_trees import Return

logger = logging.getLogger(__name__)

_MAX_NAMED_FILES = 50


async def set_apart(parent: ConversationEngine, child_id: UUID, trees: Path) -> Path:
    """Creates a git work tree for a sub-agent below the directory `trees`. Returns the working directory for
    the sub-agent: the directory in the work tree that corresponds to the parent's working directory. Raises
    DelegationError if the work tree cannot be created.
    """
    try:
        return await sub_agent_work_trees.begin(parent.spec.working_dir, trees / child_id.hex, child_id.hex)
    except (GitError, OSError) as error:
        raise DelegationError(
            f"No work tree can be made: {error} Use the isolation `shared`, or commit something first."
        ) from error


async def bring_home(parent: ConversationEngine, task_id: str, trees: Path, result: Result) -> Result:
    """Merges the sub-agent's changes into the parent's working directory. Returns a copy of `result`, the
    result of the sub-agent's task, with an additional text about the merge. `task_id`: the id of the task.
    `trees`: the directory of the sub-agents' work trees.

    If there are conflicts or git fails, the copy says that the task is not completed. With conflicts, no
    change is merged; the text tells the parent agent how to find the changes, and to resolve the conflicts.
    """
    task = parent.state.tasks[task_id]
    name = task.conversation_id.hex
    try:
        returned = await sub_agent_work_trees.bring_back(parent.spec.working_dir, trees / name, name)
    except (GitError, OSError) as error:
        _note(parent, task_id, task, f"refs/slipway/tasks/{name}")
        return _undone(result, f"Its changes could not be brought into your working directory: {error}")
    if returned.conflicts:
        _note(parent, task_id, task, returned.ref)
        return _undone(result, _conflict(returned))
    brought = _listed(returned.files) if returned.files else "nothing, since it changed nothing"
    return Result(
        result.task_id,
        result.subagent,
        True,
        result.text,
        f"{result.note} Merged into your working directory, not committed: {brought}.",
    )


def is_set_apart(parent: ConversationEngine, child_id: UUID) -> bool:
    """Returns whether the sub-agent with the conversation `child_id` works in a git work tree that is
    separate from the work tree of `parent`, the conversation that started the sub-agent.
    """
    tasks = parent.state.tasks.values()
    return any(one.conversation_id == child_id and one.isolation == "worktree" for one in tasks)


def repository_of(parent: ConversationEngine, host: ConversationHost) -> Path:
    """Returns a directory of the repository to which the git work trees of all sub-agents belong. It is the
    working directory of the topmost conversation (the one that no other conversation has started).

    The working directory of `parent` is not used. If `parent` is itself the conversation of a sub-agent, this
    directory may be in a git work tree that is already removed.
    """
    above = parent.spec.parent_conversation_id
    while above is not None and (found := host.find(above)) is not None:
        parent, above = found, found.spec.parent_conversation_id
    return parent.spec.working_dir


async def let_go(repository: Path, child_id: UUID, trees: Path) -> None:
    """Removes a sub-agent's git work tree and its git refs, even if the sub-agent's task is not finished. The
    sub-agent cannot continue afterwards. `repository`: a directory of the repository. `trees`: the directory
    of the sub-agents' work trees.
    """
    try:
        await sub_agent_work_trees.forget(repository, trees / child_id.hex, child_id.hex)
    except (GitError, OSError) as error:
        # For example, the repository is gone. The conversation can be deleted anyway.
        logger.warning(
            "work of a sub-agent is left behind",
            extra={"conversation_id": str(child_id), "cause": str(error)},
        )


def _note(parent: ConversationEngine, task_id: str, task: Task, ref: str) -> None:
    parent.emit(task.model_copy(update={"status": "conflict", "ref": ref}).to_event(task_id))


def _undone(result: Result, why: str) -> Result:
    return Result(result.task_id, result.subagent, False, result.text, f"{result.note}\n{why}")


def _conflict(returned: Return) -> str:
    since = returned.base[:12]
    return (
        f"TO DO: its changes conflict with yours in {_listed(returned.conflicts)}. "
        "Nothing in your working directory was touched. "
        f"Its work is the commit {returned.ref}, begun at {since}. Settle it now: read "
        f"`git diff {since} {returned.ref}`, and its files with `git show {returned.ref}:PATH`; then make "
        "both changes hold in your working directory."
    )


def _listed(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - _MAX_NAMED_FILES} more" if len(files) > _MAX_NAMED_FILES else ""
    return ", ".join(files[:_MAX_NAMED_FILES]) + more
