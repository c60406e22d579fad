"""Sends signals to groups and sessions of processes.

The system gives the id of a process that has ended to a new process later. It does not do that as long as the
group or the session with this id has members. So if the exit status of a leader was read, and a process with
the leader's id exists, then the group and the session have no members left, and the process is a stranger.
"""

import os
from typing import Protocol


class Leader(Protocol):
    """A process that leads a group and a session. `returncode`: the exit status, or None if it was not read
    yet.
    """

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...


def signal_group_of(leader: Leader, number: int) -> None:
    """Sends a signal to all processes of the group of `leader`, also after the leader has ended. Does nothing
    if the group has no members.
    """
    if not _is_id_reused(leader):
        signal_group(leader.pid, number)


def signal_session_of(leader: Leader, number: int) -> None:
    """Sends a signal to all processes of the session of `leader`, also after the leader has ended. Does
    nothing if the session has no members.
    """
    if _is_id_reused(leader):
        return
    for pid in _session_members(leader.pid):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def signal_group(group: int, number: int) -> None:
    """Sends a signal to all processes of a group. `group`: the group's id."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:  # ended by itself meanwhile
        return


def pids() -> list[int]:
    """Returns the ids of all visible processes. Returns an empty list if there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (a tenth of the time)
    except FileNotFoundError:
        return []


def exists(pid: int) -> bool:
    """Returns whether the process exists. A process that has ended still exists until its parent has read its
    exit status.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def has_companions(leader: int) -> bool:
    """Returns whether a session of the operating system contains other processes besides its leader.
    `leader`: the process id of the leader. Returns False if there is no /proc.
    """
    return any(pid != leader for pid in _session_members(leader))


def _is_id_reused(leader: Leader) -> bool:
    return leader.returncode is not None and exists(leader.pid)


def _session_members(session: int) -> list[int]:
    # Without /proc, only the leader is known: the shell passes a hang-up signal on to its jobs.
    return [pid for pid in pids() or [session] if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None
