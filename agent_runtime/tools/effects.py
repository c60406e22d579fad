"""What a tool's calls do to the world: the tool says it, `security` judges it.

Every tool that comes with the runtime overrides `Tool.effects`; what says nothing is asked about.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reads:
    """path: a file or directory, absolute or relative to the working directory."""

    path: str


@dataclass(frozen=True)
class Writes:
    """Creates, changes or deletes. path: as in Reads."""

    path: str


@dataclass(frozen=True)
class RunsCommand:
    """command: bash text that runs in the agent's shell."""

    command: str


@dataclass(frozen=True)
class RunsProgram:
    """code: Python as a notebook takes it, with `!command` and `%magic` lines."""

    code: str


@dataclass(frozen=True)
class Opens:
    """url: an address that is loaded, as in a browser."""

    url: str


@dataclass(frozen=True)
class Acts:
    """Something not named by a path or a command. reason: for people, as the end of "it …".

    risk: MEDIUM for what can be repaired, HIGH for what cannot or leaves the machine, UNKNOWN if it depends.
    """

    reason: str
    risk: Literal["MEDIUM", "HIGH", "UNKNOWN"] = "MEDIUM"


Effect = Reads | Writes | RunsCommand | RunsProgram | Opens | Acts

NO_EFFECTS: tuple[Effect, ...] = ()
"""Nothing but what stands in the conversation itself."""

UNDECLARED: tuple[Effect, ...] = (Acts("uses a tool whose effects are not known", "UNKNOWN"),)
