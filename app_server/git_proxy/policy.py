"""Decides which refs (branches and tags) an agent may push. Does no I/O.

A forced push can remove commits of other people from a branch. The request of a push does not say whether the
push is forced. The server could find this out only by comparing the histories of the sandbox's repository and
of the host's repository. Therefore an agent may push only to branches that its sandbox has created, unless
the user's setting (PushScope) allows more.
"""

from collections.abc import Collection, Iterable

from app_server.git.models import PushScope
from app_server.git_proxy.commands import Command

BRANCHES = "refs/heads/"
TAGS = "refs/tags/"
ALLOW = "The user can allow any branch under Settings, Git hosts."
FIX = f"Push to a new branch instead: git push origin HEAD:refs/heads/NAME. {ALLOW}"


def refusals(
    commands: Iterable[Command],
    *,
    scope: PushScope,
    own: Collection[str],
    protected_branches: Collection[str],
) -> dict[str, str]:
    """Decides which refs of a push are refused. Returns a dictionary that maps each refused ref to the
    reason. If it is empty, the push is allowed. If one ref is refused, the caller refuses the whole push.
    Tags and all other refs that are not branches are always refused.

    `scope`: which branches the user lets agents push to. `own`: the refs that the sandbox has created; the
    agent may change and delete them. `protected_branches`: branches that the agent may not push to, not even
    to create them, such as the base branch. `protected_branches` has no effect if `scope` is ANY, and for the
    refs in `own`.
    """
    reasons = ((command.ref, _reason(command, scope, own, protected_branches)) for command in commands)
    return {ref: reason for ref, reason in reasons if reason}


def _reason(
    command: Command, scope: PushScope, own: Collection[str], protected: Collection[str]
) -> str | None:
    if not command.ref.startswith(BRANCHES):
        return f"agents may not push {'tags' if command.ref.startswith(TAGS) else 'anything but branches'}"
    if command.ref in own or (scope is PushScope.ANY and not command.is_deletion):
        return None
    if command.is_deletion:
        return "agents may only delete branches that this conversation made"
    if command.ref.removeprefix(BRANCHES) in protected:
        return "agents may not push to the branch that the work began from"
    return None if command.is_creation else "this branch was not made by this conversation"
