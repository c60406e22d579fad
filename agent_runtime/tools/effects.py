"""The effects of a tool call, as the tool declares them. `security` judges them.

Every built-in tool overrides `Tool.effects`. The user is asked about calls of tools that declare nothing.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reads:
    """Reads a file or directory. path: absolute, or relative to the working directory."""

    path: str


@dataclass(frozen=True)
class Writes:
    """Creates, changes or deletes a file or directory. path: as in Reads."""

    path: str


@dataclass(frozen=True)
class RunsCommand:
    """Runs a command. command: bash text for the agent's shell."""

    command: str


@dataclass(frozen=True)
class RunsProgram:
    """Runs a program. code: Python as in a notebook, with `!command` and `%magic` lines."""

    code: str


@dataclass(frozen=True)
class Opens:
    """Loads an address, as a browser does. url: the address."""

    url: str


@dataclass(frozen=True)
class Acts:
    """An effect of a tool call that no path or command describes. reason: the end of the sentence "it …", for
    people.

    risk: MEDIUM if it can be undone, HIGH if it cannot or if it leaves the machine, UNKNOWN if it depends.
    """

    reason: str
    risk: Literal["MEDIUM", "HIGH", "UNKNOWN"] = "MEDIUM"


Effect = Reads | Writes | RunsCommand | RunsProgram | Opens | Acts

NO_EFFECTS: tuple[Effect, ...] = ()
"""The call changes nothing outside the conversation and reads nothing there."""

UNDECLARED: tuple[Effect, ...] = (Acts("uses a tool whose effects are not known", "UNKNOWN"),)
