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
"""The maximum number of checkpoints (snapshots of the workspace's files) that a conversation keeps. Older
checkpoints are deleted.
"""
_TIDY_EVERY = 50
MAX_PATCH_BYTES = 2 * 1024**2
_ONLY_IF_CHANGED = {CheckpointKind.END, CheckpointKind.EDITS}
_REPOSITORY = "checkpoints.git"


class Restoring(BaseModel):
    """The plan of a rewind (a reset to a checkpoint) that has begun but has not ended. With it, the rewind
    can be completed after a crash. `tree`: the hash of the git tree to restore. `leave`: the paths that the
    rewind must not change, encoded by the function `encode_path`. `told`: the description of the rewind that
    is logged when the rewind has ended.
    """

    tree: str
    leave: list[str]
    told: JsonObject


class Checkpoint(BaseModel):
    """A stored snapshot of the workspace's files. It belongs to the point in the conversation at which it was
    made.

    `tree`: the hash of the git tree of these files. `before`: the hash of the git tree of the files after the
    agent's last change. Differences between `before` and `tree` were made by the user or by another program.

    `leaf`: the id of the event to which a rewind (a reset to this checkpoint) resets the chat; None means the
    beginning of the chat. `restoring`: the plan of a rewind that has not ended. It is stored in the
    checkpoint that was made just before this rewind; in all other checkpoints, it is None.
    """

    info: CheckpointInfo
    tree: str
    before: str
    leaf: str | None
    restoring: Restoring | None = None


class Position(BaseModel):
    """A point in a conversation's log at which a checkpoint is made. A rewind (a reset to the checkpoint)
    returns the chat to this point. The chat does not contain the events that an earlier return has abandoned.

    `event_id`: the id of the user's message on which the agent begins to work at this point; None if there is
    no such message. `seq`: the position of this message in the log; without a message, the position of the
    last event. `leaf`: the id of the last event of the chat before this message; without a message, of the
    last event of the chat. None if there is no such event.
    """

    seq: int
    leaf: str | None
    event_id: str | None = None


class Checkpoints:
    """The checkpoints (snapshots of the workspace's files) of one conversation. A lock prevents two calls
    from working on the checkpoints at the same time.
    """

    def __init__(self, log: EventLog, directory: Path, working_dir: Path) -> None:
        """Loads the checkpoints of a conversation from its log. `directory`: the conversation's directory,
        where the snapshots are stored. `working_dir`: the workspace, whose files are in the snapshots. The
        caller closes the log.
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
        """Makes a checkpoint (a snapshot) of the workspace's current files. A failure is logged and raises no
        error.

        `kind`: the reason for the checkpoint. For the kinds `end` (the agent has stopped) and `edits` (the
        agent continues without a new message), a checkpoint is made only if files have changed since the last
        checkpoint. `position`: the point in the log at which the checkpoint is made.

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
        """The hash of the git tree with the files of the last checkpoint (snapshot of the workspace's files).
        None if there is no checkpoint.
        """
        return self.made[-1].tree if self.made else None

    async def look(self) -> Snapshot:
        """Takes a snapshot of the workspace's current files and returns it. The snapshot is a git tree. Makes
        no checkpoint. Raises CheckpointsUnavailableError if the files cannot be saved.
        """
        with self._noting():
            return await self.shadow.snapshot()

    async def adopt(self, tree: str) -> Snapshot:
        """Makes an existing git tree the last snapshot of the workspace, and returns this snapshot. Called
        after a rewind (a reset to a checkpoint) has restored the files of this tree. Stores no files, so the
        maximum number and size of files in a snapshot do not apply. Raises CheckpointsUnavailableError if git
        fails. `tree`: the hash of the git tree.
        """
        with self._noting():
            return await self.shadow.adopt(tree)

    async def add(
        self, kind: CheckpointKind, position: Position, found: Snapshot, *, before: str
    ) -> Checkpoint:
        """Creates a checkpoint (a stored snapshot with its point in the conversation) from a snapshot of the
        files, stores the checkpoint and returns it. `kind`: why the checkpoint is made. `position`: the point
        in the log at which it is made. `found`: the snapshot. `before`: the hash of the git tree of the files
        after the agent's last change. Raises CheckpointsUnavailableError if the checkpoint cannot be stored.
        """
        info = CheckpointInfo(
            id=self.made[-1].info.id + 1 if self.made else 1,
            kind=kind,
            seq=position.seq,
            event_id=position.event_id,
            created_at=datetime.now(UTC),
            skipped=display_paths(found.skipped),
        )
        checkpoint = Checkpoint(info=info, tree=found.tree, before=before, leaf=position.leaf)
        with self._noting():
            await self.shadow.hold(checkpoint.tree, checkpoint.before)
            self.put(checkpoint)
        return checkpoint

    def put(self, checkpoint: Checkpoint) -> None:
        """Stores a new checkpoint (a snapshot of the workspace's files), or replaces a stored checkpoint with
        the same number. Raises sqlite3.Error if the database cannot be written.
        """
        self._log.put_checkpoint(checkpoint.info.id, checkpoint.model_dump_json())
        others = [one for one in self.made if one.info.id != checkpoint.info.id]
        self.made = sorted([*others, checkpoint], key=lambda one: one.info.id)

    @property
    def is_untidy(self) -> bool:
        return bool(self.made) and self.made[-1].info.id % _TIDY_EVERY == 0

    async def tidy(self) -> None:
        """Deletes the oldest checkpoints (snapshots of the workspace's files) if there are more than
        MAX_CHECKPOINTS, and compresses the git repository of the checkpoints. Raises GitError if a git
        command fails.
        """
        async with self.lock:
            self.made = self.made[-MAX_CHECKPOINTS:]
            self._log.drop_checkpoints(below=self.made[0].info.id)
            await self.shadow.tidy({tree for one in self.made for tree in (one.tree, one.before)})

    def get(self, number: int) -> Checkpoint:
        """Returns the checkpoint (a snapshot of the workspace's files) with this number. Raises
        CheckpointNotFoundError if there is none.
        """
        found = next((one for one in self.made if one.info.id == number), None)
        if found is None:
            raise CheckpointNotFoundError(f"There is no checkpoint {number}.")
        return found

    async def diff(self, number: int) -> CheckpointDiff:
        """Returns the changes of files that a rewind (a reset) to this checkpoint would undo. Raises
        CheckpointNotFoundError if there is no such checkpoint. Raises CheckpointsUnavailableError if the
        files cannot be compared.
        """
        async with self.lock:
            target = self.get(number)
            return await self.difference(target, (await self.look()).tree)

    async def difference(self, target: Checkpoint, present: str) -> CheckpointDiff:
        """Returns how the files of the checkpoint `target` differ from the current files, and which paths a
        rewind (a reset) to this checkpoint could not restore safely. `present`: the hash of the git tree of
        the current files. Raises CheckpointsUnavailableError if the files cannot be compared.
        """
        with self._noting():
            changes = await self.shadow.changes(target.tree, present)
            patch = await self.shadow.patch(target.tree, present)
        conflicts = await self.conflicts(target, present)
        return CheckpointDiff(
            files=display_changes(changes),
            patch=None if len(patch) > MAX_PATCH_BYTES else patch.decode("utf-8", "replace"),
            edited=display_paths(conflicts.edited),
            blocked=display_paths(conflicts.blocked),
        )

    async def conflicts(self, target: Checkpoint, present: str) -> "Conflicts":
        """Returns the paths that a rewind (a reset) to the checkpoint `target` could not restore safely, for
        example files that the user has edited. `present`: the hash of the git tree of the current files.
        Raises CheckpointsUnavailableError if the files cannot be compared.
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
    """The paths that a rewind (a reset to a checkpoint) cannot restore safely.

    `edited`: files that the user or another program has changed. `blocked`: files of the checkpoint that
    cannot be written, because another file or directory is in the way. The rewind does not remove it, because
    the loss could not be undone: for example, no snapshot contains it.
    """

    edited: frozenset[str]
    blocked: frozenset[str]


def display_paths(paths: Iterable[str]) -> list[str]:
    """Returns the paths, sorted, as valid UTF-8 text for clients. Bytes of a file name that are not UTF-8 are
    replaced.
    """
    return sorted(map(_display_path, paths))


def display_changes(changes: Iterable[Change]) -> list[CheckpointChange]:
    return [
        CheckpointChange.model_validate({"status": one.status.value, "path": _display_path(one.path)})
        for one in changes
    ]


def encode_path(path: str) -> str:
    """Encodes a path as text that can be stored as JSON, even if the file name is not valid UTF-8. The
    function `decode_path` decodes this text.
    """
    return os.fsencode(path).decode("latin-1")


def decode_path(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def _display_path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
