"""Claims: the resources that a tool call touches. Calls of one reply run in parallel only
if none conflict.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ROOT = PurePosixPath()


@dataclass(frozen=True)
class Claim:
    """A resource that a tool call uses, such as a directory with everything below it. The empty path stands
    for all resources.

    is_shared: whether the call only reads the resource, so that it may run at the same time as other calls
    that only read it.
    lane: calls in different lanes may always run in parallel, whatever they touch.
    """

    resource: PurePosixPath = _ROOT
    is_shared: bool = False
    lane: str | None = None

    @property
    def path(self) -> Path | None:
        """The path of a file or directory; None for other resources."""
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
    """Returns a claim of a file, or of a directory with everything in it. Links are resolved."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # names that no file can have: the tool will say so
        real = str(path)
    return Claim(PurePosixPath(f"files/{real}"), is_shared)


def conflict(claims: Iterable[Claim], others: Iterable[Claim]) -> bool:
    held = tuple(others)
    return any(claim.conflicts_with(other) for claim in claims for other in held)
