"""Reads the git state of the conversation's directory in the sandbox, commits the changes and pushes them
through the git proxy.

All git commands run in the sandbox, as the same operating system user as the agent's commands. The app
server reads their output but does not trust it.
"""

import shlex
from dataclasses import dataclass

from app_server.conversations.repositories.workplaces import Workplace
from app_server.core.errors import Conflict

LOOK_SECONDS = 30
PUSH_SECONDS = 300
MAX_COMMITS = 20
_MAX_OUTPUT_CHARACTERS = 2000
_COMMIT = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class WorkingTree:
    """The git state of the conversation's directory. `branch`: empty if no branch is checked out. `head`: the
    last commit; empty in a repository without commits. `subjects`: the subjects of the commits since the
    conversation began, newest first. `statistics`: the output of `git diff --stat` for all changes since the
    conversation began.
    """

    branch: str
    head: str
    uncommitted_files: int
    subjects: tuple[str, ...]
    statistics: str


async def look_at(workplace: Workplace) -> WorkingTree:
    """Runs git in the conversation's directory in the sandbox and returns the state of the repository: the
    branch, the last commit, the number of uncommitted files, and the changes since the conversation began.
    Raises Conflict `git_failed` if git fails.
    """
    since = shlex.quote(workplace.base_commit or "HEAD")
    script = (
        "git branch --show-current && (git rev-parse -q --verify HEAD || echo -) "
        "&& git status --porcelain | wc -l && echo --- "
        f"&& (git log --no-decorate --format=%s -n {MAX_COMMITS} {since}..HEAD 2>/dev/null || true) "
        f"&& echo --- && (git diff --stat {since} 2>/dev/null | tail -n 30 || true)"
    )
    printed = await _run(workplace, script, LOOK_SECONDS, "Git could not look at the work.")
    first, _, rest = printed.partition("---\n")
    subjects, _, statistics = rest.partition("---\n")
    lines = first.split("\n")
    if len(lines) < 3 or not lines[2].strip().isdigit():
        raise Conflict("Git could not look at the work.", code="git_failed")
    head = lines[1].strip()
    return WorkingTree(
        branch=lines[0].strip(),
        head=head if set(head) <= _COMMIT else "",
        uncommitted_files=int(lines[2]),
        subjects=tuple(line for line in subjects.split("\n") if line),
        statistics=statistics.rstrip(),
    )


async def push(workplace: Workplace, branch: str, message: str) -> None:
    """Commits all uncommitted changes in the sandbox and pushes the commits to `branch` at the git host.

    `message`: the message of the commit. `branch`: if this branch is not checked out in the sandbox, it is
    created from the current commit. Raises Conflict `git_failed` with git's message if the sandbox has a
    branch with this name that is not checked out, or if the git proxy or the host refuses the push.
    """
    name = shlex.quote(branch)
    script = (
        f'if [ "$(git branch --show-current)" != {name} ]; then '
        f"git switch -q -c {name}; fi && "
        'if [ -n "$(git status --porcelain)" ]; then '
        f"git add -A && git commit -q -m {shlex.quote(message)}; fi && "
        f"git push -q -u origin HEAD:refs/heads/{name}"
    )
    await _run(workplace, script, PUSH_SECONDS, "The work could not be pushed.")


async def _run(workplace: Workplace, script: str, seconds: int, failure: str) -> str:
    output = await workplace.client.execute_command(script, cwd=workplace.directory, timeout_seconds=seconds)
    if output.exit_code != 0:
        said = (output.stderr or output.stdout or "").strip()[-_MAX_OUTPUT_CHARACTERS:]
        raise Conflict(f"{failure} {said}".strip(), code="git_failed", output=said)
    return output.stdout or ""
