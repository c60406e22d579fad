"""What a tool call touches: calls of one reply run side by side only where their order cannot matter."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ROOT = PurePosixPath()


@dataclass(frozen=True)
class Claim:
    """A resource and everything below it in its path. The empty path means all resources.

    is_shared: the call only looks at it, and does not mind others that do.
    lane: calls in different lanes are meant to go on side by side, whatever they touch.
    """

    resource: PurePosixPath = _ROOT
    is_shared: bool = False
    lane: str | None = None

    @property
    def path(self) -> Path | None:
        """The file or directory, if it is one."""
        kind, *names = self.resource.parts or ("",)
        return Path("/", *names) if kind == "files" else None

    def conflicts_with(self, other: "Claim") -> bool:
        if self.is_shared and other.is_shared:
            return False
        if self.lane is not None and other.lane is not None and self.lane != other.lane:
            return False
        return self.resource.is_relative_to(other.resource) or other.resource.is_relative_to(self.resource)


EVERYTHING = (Claim(),)
NOTHING: tuple[Claim, ...] = ()


def file_claim(path: Path, *, is_shared: bool = False) -> Claim:
    """A file or a directory with all in it, by whatever links it is reached."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # names that no file can have: the tool will say so
        real = str(path)
    return Claim(PurePosixPath(f"files/{real}"), is_shared)


def conflict(claims: Iterable[Claim], others: Iterable[Claim]) -> bool:
    held = tuple(others)
    return any(claim.conflicts_with(other) for claim in claims for other in held)
