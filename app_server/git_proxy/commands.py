"""Parses the list of commands at the beginning of a git push (receive-pack). Refuses every list that does not
match the format gitprotocol-pack(5) exactly.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from app_server.git_proxy.pkt_line import ProtocolError, Reader

MAX_COMMANDS = 500
MAX_SHALLOW_LINES = 10_000
"""The maximum number of `shallow` lines in a push. A shallow clone (a clone with an incomplete history) sends
one such line for each commit at which its history ends.
"""
MAX_LIST_BYTES = 1024**2
_LINES_AT_ONCE = 200
_PAUSE_SECONDS = 0.01
_TOO_SHALLOW = (
    f"The history of the clone ends at more than {MAX_SHALLOW_LINES} commits. "
    "Run git fetch --unshallow first."
)
_OBJECT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_COMMAND = re.compile(rf"({_OBJECT}) ({_OBJECT}) (refs/[^\x00-\x20\x7f~^:?*\[\\]+)")
_SHALLOW = re.compile(rf"shallow {_OBJECT}")
# The same lines as they arrive, behind their lengths: both kinds of object names, with or without a line end.
_SHALLOW_LINES = re.compile(
    rb"(?:0035shallow [0-9a-f]{40}\n|0034shallow [0-9a-f]{40}"
    rb"|004dshallow [0-9a-f]{64}\n|004cshallow [0-9a-f]{64})+"
)
# Ref names that two programs might read differently (check-ref-format(1)).
_AMBIGUOUS = re.compile(r"\.\.|//|@\{|(^|/)\.|\.lock(/|$)|[./]$")


@dataclass(frozen=True)
class Command:
    """A ref (branch or tag) that a push creates, changes or deletes. `old` and `new`: the hashes of the git
    objects to which the ref points before and after the push. `old` consists of zeros if the push creates the
    ref. `new` consists of zeros if the push deletes the ref.
    """

    ref: str
    old: str
    new: str

    @property
    def is_creation(self) -> bool:
        return not self.old.strip("0")

    @property
    def is_deletion(self) -> bool:
        return not self.new.strip("0")


@dataclass(frozen=True)
class CommandList:
    """The beginning of a git push: the refs that the push changes, and the capabilities of the git client.
    The property `has_sideband`: whether the client accepts a reply with several channels, one of which
    carries messages for the user.
    """

    commands: tuple[Command, ...]
    capabilities: frozenset[str]

    @property
    def has_sideband(self) -> bool:
        return "side-band-64k" in self.capabilities


async def read_commands(reader: Reader) -> CommandList:
    """Reads the commands at the beginning of a push, up to the flush packet that ends the list, and returns
    them. The list may be empty: git sends an empty list to test the connection before a large push.

    Raises ProtocolError if the data is not a command list, has no flush packet, or exceeds a limit. Also
    raises ProtocolError for pushes that cannot be checked: signed pushes, pushes that name a ref twice, and
    pushes that do not request a status report.
    """
    commands: list[Command] = []
    shallow_lines = 0
    capabilities: frozenset[str] = frozenset()
    async for line in _lines(reader):
        text, zero, capability_words = _decoded(line).partition("\0")
        if zero and not commands:
            capabilities = frozenset(capability_words.split())
        elif zero:
            raise ProtocolError("Only the first command may have capabilities.")
        if not commands and _SHALLOW.fullmatch(text.rstrip("\n")):
            # Thousands of these lines are usual. Read one by one they would hold the event loop for long.
            shallow_lines += 1 + reader.take(_SHALLOW_LINES).count(b"shallow")
            if shallow_lines > MAX_SHALLOW_LINES:
                raise ProtocolError(_TOO_SHALLOW)
            continue
        commands.append(_command(text.removesuffix("\n")))
        if len(commands) > MAX_COMMANDS:
            raise ProtocolError(f"At most {MAX_COMMANDS} refs can be pushed at a time.")
    if len({command.ref for command in commands}) != len(commands):
        raise ProtocolError("A ref is named twice in one push.")
    if commands and capabilities.isdisjoint({"report-status", "report-status-v2"}):
        raise ProtocolError("A push must ask for a report (report-status).")
    return CommandList(tuple(commands), capabilities)


async def _lines(reader: Reader) -> AsyncIterator[bytes]:
    """Yields the packet lines (the units of git's protocol) up to the flush packet, which ends the list.
    Raises ProtocolError if the lines together are longer than MAX_LIST_BYTES.
    """
    count = 0
    while (line := await reader.line()) is not None:
        if reader.seen_bytes > MAX_LIST_BYTES:
            raise ProtocolError(f"The list of what is pushed is longer than {MAX_LIST_BYTES} bytes.")
        yield line
        count += 1
        if count % _LINES_AT_ONCE == 0:
            await asyncio.sleep(_PAUSE_SECONDS)  # so that others get most of the event loop's time


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise ProtocolError("The name of a ref is not valid UTF-8.") from None


def _command(text: str) -> Command:
    if text.startswith("push-cert"):
        raise ProtocolError("Signed pushes cannot be passed on. Push without --signed.")
    match = _COMMAND.fullmatch(text)
    if match is None or _AMBIGUOUS.search(match[3]):
        raise ProtocolError("The push contains an invalid ref name.")
    if len(match[1]) != len(match[2]):
        raise ProtocolError("The push mixes two kinds of object names.")
    return Command(ref=match[3], old=match[1], new=match[2])
