"""Turns a task that a git host suggests into the first message of a conversation. Such a task is, for
example, an open issue. Does no I/O.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from app_server.git.address import HOST_OF_PROVIDER
from app_server.git.providers import HOSTS, GitProvider
from app_server.git.schemas import Origin
from app_server.git_hosts.repository_names import path_of
from app_server.http.strict_body import StrictBody


class TaskType(StrEnum):
    MERGE_CONFLICTS = "MERGE_CONFLICTS"
    FAILING_CHECKS = "FAILING_CHECKS"
    UNRESOLVED_COMMENTS = "UNRESOLVED_COMMENTS"
    OPEN_ISSUE = "OPEN_ISSUE"
    OPEN_PR = "OPEN_PR"


class SuggestedTask(StrictBody):
    """A task that a git host suggests, such as an open issue or a pull request with failing checks.
    `issue_number`, `title`: number and title of the issue or pull request. `host`: the git host; null means
    the provider's usual host.
    """

    git_provider: GitProvider
    host: Annotated[Origin, Field(max_length=300)] | None = None
    task_type: TaskType
    repo: Annotated[str, Field(min_length=1, max_length=2000)]
    issue_number: Annotated[int, Field(ge=1)]
    title: Annotated[str, Field(max_length=1000)]


_ASKS: dict[TaskType, str] = {
    TaskType.MERGE_CONFLICTS: (
        "It conflicts with the branch it is to be merged into. Check out its branch, merge the target branch "
        "into it, and resolve each conflict so that what both sides were for still works. Run the tests."
    ),
    TaskType.FAILING_CHECKS: (
        "Its checks fail. Check out its branch, find out from the configuration of the checks what they run, "
        "run the same here, and correct what fails. Do not weaken a check."
    ),
    TaskType.UNRESOLVED_COMMENTS: (
        "It has review comments without an answer. Check out its branch, read the comments as far as you can "
        "reach them, and ask me for those you cannot. Make the changes they ask for, one by one."
    ),
    TaskType.OPEN_ISSUE: (
        "Read it as far as you can reach it, and ask me for what you cannot. Find the cause in the code, "
        "correct it on a new branch, and add a test that fails without the correction."
    ),
    TaskType.OPEN_PR: (
        "It is open. Check out its branch, look at what it changes, and finish what is missing until it can "
        "be merged: tests, documentation, open points."
    ),
}


def repository_of(task: SuggestedTask) -> str | None:
    """Returns the repository of the suggested task. At the provider's usual host, this is `owner/name`; at
    another host, it is the URL of the repository. Returns None if the task names no host and the provider has
    no usual host.
    """
    usual = HOSTS[task.git_provider]
    if task.git_provider in HOST_OF_PROVIDER and task.host in {None, f"https://{usual}"}:
        return task.repo
    origin = task.host or (f"https://{usual}" if usual else None)
    return f"{origin}/{path_of(task.git_provider, task.repo)}" if origin else None


def message_of(task: SuggestedTask) -> str:
    """Returns the first message of a new conversation. The message asks the agent to do the
    suggested task.
    """
    is_issue = task.task_type is TaskType.OPEN_ISSUE
    what = "Issue" if is_issue else "Merge request" if task.git_provider == "gitlab" else "Pull request"
    return f"{what} #{task.issue_number} of {task.repo}: {task.title}\n\n{_ASKS[task.task_type]}"
