"""Lets a conversation use several shells. The model chooses a name for each shell."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.terminal.models import STILL_RUNNING, TerminalAction, TerminalObservation

MAIN = "main"


class NamedTerminalAction(TerminalAction):
    """The action of a terminal call in which the model also chooses a shell by its name (`session`). Clients
    get the action as a TerminalAction, without the name.
    """

    off_wire: ClassVar = frozenset({"session"})

    session: str = Field(
        default=MAIN,
        pattern=r"^[A-Za-z0-9_.-]{1,32}$",
        description="Which shell: a name of your choice of letters, digits, `_`, `.` and `-`. One that is "
        f"new starts a shell. Default: `{MAIN}`.",
    )

    @classmethod
    def wire_kind(cls) -> str:
        return TerminalAction.__name__


def session_of(action: TerminalAction) -> str:
    return action.session if isinstance(action, NamedTerminalAction) else MAIN


def too_many(action: TerminalAction, running: Mapping[str, str | None]) -> TerminalObservation:
    """Returns the error result for a call that needs a new shell although the maximum number of shells is
    already open.

    `running`: the running command of each shell; None for a shell that runs no command.
    """
    listed = "; ".join(f"{name} ({command or 'free'})" for name, command in running.items())
    text = (
        f"This was not run: there are {len(running)} sessions already, which is as many as there may be: "
        f"{listed}. Use one of them, or end one with reset=true and an empty command."
    )
    return TerminalObservation(
        content=[TextContent(text=text)],
        is_error=True,
        command=action.command,
        exit_code=STILL_RUNNING,
    )
