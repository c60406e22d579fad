"""Defines the effects of a tool call, as the tool declares them: for example, it writes a file or runs a
command. The package `security` rates the risk of these effects.

Every built-in tool overrides the method `Tool.effects`. Another tool may declare annotations (hints about its
effects) instead. If it declares neither, the effects and the risk of its calls are unknown.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reads:
    """An effect of a tool call: it reads a file or directory. `path`: absolute, or relative to the working
    directory.
    """

    path: str


@dataclass(frozen=True)
class Writes:
    """An effect of a tool call: it creates, changes or deletes a file or directory. `path`: absolute, or
    relative to the working directory.
    """

    path: str


@dataclass(frozen=True)
class RunsCommand:
    """An effect of a tool call: it runs a shell command. `command`: bash text for the agent's shell."""

    command: str


@dataclass(frozen=True)
class RunsProgram:
    """An effect of a tool call: it runs Python code. `code`: the text of a notebook cell, which may contain
    `!command` and `%magic` lines.
    """

    code: str


@dataclass(frozen=True)
class Opens:
    """An effect of a tool call: it opens a URL, as a browser does."""

    url: str


@dataclass(frozen=True)
class Acts:
    """An effect of a tool call that cannot be described by a path or a command.

    `reason`: a text for people that says what the call does, such as "acts on a web page". It has no subject,
    because it follows the word "it". `risk`: MEDIUM if the effect can be undone; HIGH if it cannot be undone
    or reaches beyond this machine; UNKNOWN if it is not known what the call does.
    """

    reason: str
    risk: Literal["MEDIUM", "HIGH", "UNKNOWN"] = "MEDIUM"


Effect = Reads | Writes | RunsCommand | RunsProgram | Opens | Acts

NO_EFFECTS: tuple[Effect, ...] = ()
"""The effects of a call that neither changes nor reads anything outside the conversation."""

UNDECLARED: tuple[Effect, ...] = (Acts("uses a tool whose effects are not known", "UNKNOWN"),)
