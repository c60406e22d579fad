"""What an agent may push. Pure.

A push does not tell whether it is forced: that would need the history of both sides. So branches that the
conversation did not make stay closed to it altogether, unless the user opens them.
"""

from collections.abc import Collection, Iterable

from app_server.git.models import PushScope
from app_server.git_proxy.commands import Command

BRANCHES = "refs/heads/"
TAGS = "refs/tags/"
ALLOW = "The user can allow any branch under Settings, Git hosts."
FIX = f"Push to a new branch instead: git push origin HEAD:refs/heads/NAME. {ALLOW}"


def refusals(
    commands: Iterable[Command], *, scope: PushScope, own: Collection[str], kept: Collection[str]
) -> dict[str, str]:
    """Why, by ref, for those that are refused; one refused ref refuses the whole push.

    own: refs that the conversation has made. kept: branches by name that are never its own, like its base.
    """
    reasons = ((command.ref, _reason(command, scope, own, kept)) for command in commands)
    return {ref: reason for ref, reason in reasons if reason}


def _reason(command: Command, scope: PushScope, own: Collection[str], kept: Collection[str]) -> str | None:
    if not command.ref.startswith(BRANCHES):
        return f"agents may not push {'tags' if command.ref.startswith(TAGS) else 'anything but branches'}"
    if command.ref in own or (scope is PushScope.ANY and not command.is_deletion):
        return None
    if command.is_deletion:
        return "agents may only delete branches that this conversation made"
    if command.ref.removeprefix(BRANCHES) in kept:
        return "agents may not push to the branch that the work began from"
    return None if command.is_creation else "this branch was not made by this conversation"
