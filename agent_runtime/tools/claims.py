"""Defines claims. A claim states that a tool call uses a resource, such as a file, and whether the call only
reads the resource. Tool calls in one reply of the model run in parallel only if their claims do not conflict.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ROOT = PurePosixPath()


@dataclass(frozen=True)
class Claim:
    """A statement that a tool call uses a resource, such as a directory with all its content.

    Two claims conflict if one resource contains the other or both are the same. Tool calls whose claims
    conflict do not run in parallel. There are two exceptions, in which claims never conflict: both are
    shared, or both have a lane and the lanes differ.

    `resource`: the name of the resource, in the form of a path; it contains all resources below this path. An
    empty path means all resources. `is_shared`: whether the call only reads the resource. `lane`: the name of
    a group of calls, such as the calls in one terminal session; None if the call belongs to no group.
    """

    resource: PurePosixPath = _ROOT
    is_shared: bool = False
    lane: str | None = None

    @property
    def path(self) -> Path | None:
        """The path of the claimed file or directory; None if the claim is for another kind of resource."""
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
    """Returns the claim (statement) that a tool call uses a file, or a directory with all its content.
    Symbolic links in the path are resolved. `is_shared`: whether the call only reads.
    """
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # names that no file can have: the tool will say so
        real = str(path)
    return Claim(PurePosixPath(f"files/{real}"), is_shared)


def conflict(claims: Iterable[Claim], others: Iterable[Claim]) -> bool:
    held = tuple(others)
    return any(claim.conflicts_with(other) for claim in claims for other in held)
