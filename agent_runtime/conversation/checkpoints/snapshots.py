"""Stores snapshots of the workspace (checkpoints), so that files can be restored. A checkpoint is made each
time the agent starts to work, and each time it stops.
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from agent_runtime.conversation.errors import CheckpointNotFoundError, CheckpointsUnavailableError
from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.events.base import JsonObject
from agent_runtime.wire import (
    CheckpointChange,
    CheckpointDiff,
    CheckpointInfo,
    CheckpointKind,
    CheckpointList,
)
from agent_runtime.workspace.git import Change, GitError
from agent_runtime.workspace.snapshot_repository import Shadow, Snapshot

logger = logging.getLogger(__name__)

MAX_CHECKPOINTS = 300
"""The number of checkpoints that a conversation keeps. Older ones are forgotten."""
_TIDY_EVERY = 50
MAX_PATCH_BYTES = 2 * 1024**2
_ONLY_IF_CHANGED = {CheckpointKind.END, CheckpointKind.EDITS}
_REPOSITORY = "checkpoints.git"


class Restoring(BaseModel):
    """The details of a rewind (a reset to a checkpoint) whose files are not all restored yet. `tree`: the
    hash of the git tree to restore. `leave`: the paths that the rewind must not change, encoded as text that
    is valid in JSON. `told`: the details of the rewind that are logged when the rewind is complete.
    """

    tree: str
    leave: list[str]
    told: JsonObject


class Checkpoint(BaseModel):
    """A stored snapshot of the workspace's files, together with the event of the conversation at which it was
    made.

    `tree`: the hash of the git tree of these files. `before`: the hash of the git tree of the files after the
    agent's last change. Differences between `before` and `tree` were made by the user or by another program.

    `leaf`: the id of the event to which a rewind resets the chat. `restoring`: set only while a rewind from
    this checkpoint is incomplete.
    """

    info: CheckpointInfo
    tree: str
    before: str
    leaf: str | None
    restoring: Restoring | None = None


class Position(BaseModel):
    """A point in a conversation's log. `seq`: the position of the last event. `leaf`: the id of the newest
    event of the active branch. `event_id`: the id of a user's message; set if the agent starts to work on
    this message at this point, otherwise None.
    """

    seq: int
    leaf: str | None
    event_id: str | None = None


class Checkpoints:
    """The checkpoints of one conversation. A lock prevents two calls from working on the checkpoints at the
    same time.
    """

    def __init__(self, log: EventLog, directory: Path, working_dir: Path) -> None:
        """Loads the checkpoints of a conversation from its log. `directory`: the conversation's directory.
        The caller closes the log.
        """
        self._log = log
        work_tree = working_dir.absolute()
        own = directory.absolute()
        # Logs of other conversations lie beside this one's, maybe in the workspace.
        excluded = own if own.parent in (work_tree, *work_tree.parents) else own.parent
        self.shadow = Shadow(own / _REPOSITORY, work_tree, [excluded])
        self.lock = asyncio.Lock()
        self.made = [Checkpoint.model_validate_json(body) for body in log.checkpoints()]
        self._unavailable: dict[str, str] | None = None

    def list(self) -> CheckpointList:
        infos = [one.info for one in self.made]
        return CheckpointList(checkpoints=infos, unavailable=self._unavailable)

    async def take(self, kind: CheckpointKind, position: Position, *, by_others: bool) -> None:
        """Makes a checkpoint of the current files. A checkpoint of the kind `end` (after a run) or `edits`
        (between runs) is made only if files have changed. A failure is logged and raises no error.

        `by_others`: True if the changes since the last checkpoint were made by the user or other programs;
        False if they were made by this agent.
        """
        async with self.lock:
            try:
                found = await self.look()
                last = self.last_tree or found.tree
                if kind in _ONLY_IF_CHANGED and found.tree == last:
                    return
                await self.add(kind, position, found, before=last if by_others else found.tree)
            except CheckpointsUnavailableError as error:
                logger.warning("no checkpoint: %s", error)

    # The following methods are for callers that hold the lock.

    @property
    def last_tree(self) -> str | None:
        """The hash of the git tree of the last checkpoint. None if there is no checkpoint."""
        return self.made[-1].tree if self.made else None

    async def look(self) -> Snapshot:
        """Takes a snapshot of the current files in git and returns it, without making a checkpoint. Raises
        CheckpointsUnavailableError.
        """
        with self._noting():
            return await self.shadow.snapshot()

    async def add(
        self, kind: CheckpointKind, position: Position, found: Snapshot, *, before: str
    ) -> Checkpoint:
        """Creates a checkpoint from a snapshot of the files, stores the checkpoint and returns it. `kind`:
        why it is made. `position`: the point in the log. `found`: the snapshot. `before`: the hash of the git
        tree of the files after the agent's last change. Raises CheckpointsUnavailableError.
        """
        info = CheckpointInfo(
            id=self.made[-1].info.id + 1 if self.made else 1,
            kind=kind,
            seq=position.seq,
            event_id=position.event_id,
            created_at=datetime.now(UTC),
            skipped=shown(found.skipped),
        )
        checkpoint = Checkpoint(info=info, tree=found.tree, before=before, leaf=position.leaf)
        with self._noting():
            await self.shadow.hold(checkpoint.tree, checkpoint.before)
            self.put(checkpoint)
        return checkpoint

    def put(self, checkpoint: Checkpoint) -> None:
        """Stores a new checkpoint, or replaces a stored checkpoint with the same number. Raises
        sqlite3.Error.
        """
        self._log.put_checkpoint(checkpoint.info.id, checkpoint.model_dump_json())
        others = [one for one in self.made if one.info.id != checkpoint.info.id]
        self.made = sorted([*others, checkpoint], key=lambda one: one.info.id)

    @property
    def is_untidy(self) -> bool:
        return bool(self.made) and self.made[-1].info.id % _TIDY_EVERY == 0

    async def tidy(self) -> None:
        """Deletes the oldest checkpoints if there are too many, and compresses the git repository of the
        checkpoints. Raises GitError.
        """
        async with self.lock:
            self.made = self.made[-MAX_CHECKPOINTS:]
            self._log.drop_checkpoints(below=self.made[0].info.id)
            await self.shadow.tidy({tree for one in self.made for tree in (one.tree, one.before)})

    def get(self, number: int) -> Checkpoint:
        """Returns the checkpoint with this number. Raises CheckpointNotFoundError."""
        found = next((one for one in self.made if one.info.id == number), None)
        if found is None:
            raise CheckpointNotFoundError(f"There is no checkpoint {number}.")
        return found

    async def diff(self, number: int) -> CheckpointDiff:
        """Returns the changes that a rewind (a reset to a checkpoint) to this checkpoint would undo. Raises
        CheckpointNotFoundError or CheckpointsUnavailableError.
        """
        async with self.lock:
            target = self.get(number)
            return await self.difference(target, (await self.look()).tree)

    async def difference(self, target: Checkpoint, present: str) -> CheckpointDiff:
        """Returns how the files of the checkpoint differ from those of the git tree `present`, and which
        paths a rewind (a reset to a checkpoint) could not restore safely. Raises CheckpointsUnavailableError.
        """
        with self._noting():
            changes = await self.shadow.changes(target.tree, present)
            patch = await self.shadow.patch(target.tree, present)
        conflicts = await self.conflicts(target, present)
        return CheckpointDiff(
            files=shown_changes(changes),
            patch=None if len(patch) > MAX_PATCH_BYTES else patch.decode("utf-8", "replace"),
            edited=shown(conflicts.edited),
            blocked=shown(conflicts.blocked),
        )

    async def conflicts(self, target: Checkpoint, present: str) -> "Conflicts":
        """Returns the paths that a rewind (a reset to a checkpoint) to the checkpoint `target` must not
        change. `present`: the hash of the git tree of the current files. Raises CheckpointsUnavailableError.
        """
        later = [one for one in self.made if one.info.id > target.info.id]
        pairs = {(one.before, one.tree) for one in later} | {(self.last_tree or present, present)}
        edited: set[str] = set()
        with self._noting():
            concerned = {one.path for one in await self.shadow.changes(present, target.tree)}
            for before, after in pairs:
                edited |= {one.path for one in await self.shadow.changes(before, after)} & concerned
            blocked = await self.shadow.blocked(present, target.tree, leave=edited)
        return Conflicts(frozenset(edited), frozenset(blocked))

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except (GitError, OSError, sqlite3.Error) as error:
            code = error.code if isinstance(error, GitError) else "io_error"
            self._unavailable = {"code": code, "detail": str(error)}
            raise CheckpointsUnavailableError(f"No checkpoint can be made: {error}") from error
        self._unavailable = None


@dataclass(frozen=True)
class Conflicts:
    """The paths that a rewind (a reset to a checkpoint) cannot restore safely. `edited`: files that the user
    or another program has changed. `blocked`: paths where a file or directory now exists that is in no
    snapshot, so the rewind would destroy it.
    """

    edited: frozenset[str]
    blocked: frozenset[str]


def shown(paths: Iterable[str]) -> list[str]:
    """Returns the paths, sorted, as valid UTF-8 text for clients. Bytes of a file name that are not UTF-8 are
    replaced.
    """
    return sorted(map(_shown, paths))


def shown_changes(changes: Iterable[Change]) -> list[CheckpointChange]:
    return [
        CheckpointChange.model_validate({"status": one.status.value, "path": _shown(one.path)})
        for one in changes
    ]


def written(path: str) -> str:
    """Encodes a path as text that can be stored as JSON, even if the file name is not valid UTF-8. `read`
    decodes it.
    """
    return os.fsencode(path).decode("latin-1")


def read(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
