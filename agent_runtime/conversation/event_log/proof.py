"""Derives from the event log what the agent has done: which files it changed, and which commands ran after
the last change. The result is a `Work` object, which is a part of the conversation's state. Has no side
effects.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from agent_runtime.conversation.event_log.commands import kind_of, tells_result
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.observation import ObservationEvent
from agent_runtime.events.state import ConversationStateUpdateEvent

PROOF = "proof"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains the report that says whether commands have verified the agent's work.
"""

MAX_COMMANDS = 20
MAX_FILES = 100
MAX_RECENT = 10
_MAX_COMMAND_CHARS = 500
_EDITORS = frozenset({"apply_patch", "edit", "file_editor", "write_file"})
_RUNNERS = frozenset({"terminal", "execute_ipython_cell"})
# These tools neither change files nor run anything.
_LOOKERS = frozenset(
    {
        "finish", "glob", "grep", "invoke_skill", "list_directory", "memory_search", "memory_write",
        "planning_file_editor", "read_file", "task_tracker", "think", "view_image",
    }
)  # fmt: skip
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """A command that ran after the agent's last change of a file. `event_id`: the id of the event of the tool
    call. `exit_code`: the command's exit code; None if it is not known. `is_test`: whether the command runs
    tests.
    """

    event_id: str
    command: str
    exit_code: int | None
    is_test: bool


@dataclass(frozen=True)
class Work:
    """What the event log proves about the agent's work up to one position in the log. In this text, "the last
    change" means the agent's last change of a file.

    `changed`: the files that editing tools have changed, in order. `is_changed`: whether any file was
    changed, also by a command. `ran`: the commands since the last change, oldest first, at most MAX_COMMANDS.
    `running`: the id of the tool call of a command that is still running, and the command; None if no command
    is running.

    `has_hidden_work`: True if the agent may know results of tests that are not in `ran`. Its claims are then
    not checked. This is so if a sub-agent or an unknown tool was used since the last change. Before the first
    change, it is also so after a command that only reads, because its output may contain results of tests.

    `cited`: the commands that the agent named in its last call of the tool `finish`. `is_reported`: whether
    the log already contains the report to users about this work. `is_questioned`: whether the agent was told,
    after the user's last message, that the log does not prove the agent's claims.

    `recent`: the files that the agent viewed or changed last, the latest at the end. `plan`: the agent's list
    of tasks, one per line; empty if there is none.
    """

    changed: tuple[str, ...] = ()
    is_changed: bool = False
    ran: tuple[Ran, ...] = ()
    running: tuple[str, str] | None = None
    has_hidden_work: bool = False
    cited: tuple[str, ...] = ()
    is_reported: bool = True
    is_questioned: bool = False
    recent: tuple[str, ...] = ()
    plan: str = ""

    @property
    def is_verified(self) -> bool:
        """Whether commands confirm the agent's work. Two conditions must be met. At least one command since
        the agent's last change of a file has succeeded. And if tests have run since that change, the last of
        these commands with tests has succeeded.
        """
        tests = [one for one in self.ran if one.is_test]
        return any(one.exit_code == 0 for one in self.ran) and (not tests or tests[-1].exit_code == 0)

    def cites(self, ran: Ran) -> bool:
        return any(_is_same(command, ran.command) for command in self.cited)

    @property
    def not_run(self) -> Sequence[str]:
        """The commands that the agent named in its call of the tool `finish` but did not run after its last
        change of a file.
        """
        return [
            command for command in self.cited if not any(_is_same(command, one.command) for one in self.ran)
        ]

    def to_event(self) -> ConversationStateUpdateEvent:
        """Returns the event that reports to users whether commands have confirmed the agent's work (see
        `is_verified`). The event also lists the changed files and the commands.
        """
        return ConversationStateUpdateEvent(key="agent_state", value={PROOF: self.proof()})

    def proof(self) -> JsonObject:
        """Returns what the event log proves about the agent's work, as a JSON object with `status`
        (`verified` or `unverified`), `changed` (the changed files) and `commands` (the commands since the
        last change of a file). Each command has `event_id`, `command`, `exit_code`, `is_test`, and
        `is_cited`: whether the agent named the command in its last call of the tool `finish`.
        """
        status: Literal["verified", "unverified"] = "verified" if self.is_verified else "unverified"
        commands: list[JsonObject] = [
            {
                "event_id": one.event_id,
                "command": one.command,
                "exit_code": one.exit_code,
                "is_test": one.is_test,
                "is_cited": self.cites(one),
            }
            for one in self.ran
        ]
        return {"status": status, "changed": list(self.changed), "commands": commands}


def after_result(work: Work, call: ActionEvent, result: ObservationEvent) -> Work:
    """Returns the record of the agent's work after one more tool call. `work`: the record before this call.
    `call`, `result`: the tool call and its result.
    """
    action, name = call.action or {}, call.tool_name
    if name == "finish":
        return replace(work, cited=_cited(call))
    if name in _RUNNERS:
        return _after_command(work, call, action, result.observation)
    if name == "task_tracker":
        return replace(work, plan=_plan(result.observation))
    if name in _EDITORS or name == "read_file":
        return _after_file(work, name, action, result.observation)
    is_foreign = name not in _LOOKERS and not name.startswith("browser_")
    return replace(work, has_hidden_work=work.has_hidden_work or is_foreign)


NOTHING_DONE = Work()


def reported(work: Work) -> Work:
    return replace(work, is_reported=True)


def questioned(work: Work) -> Work:
    return replace(work, cited=(), is_questioned=True)


def after_user_message(work: Work) -> Work:
    """Returns the record of the agent's work after a new message of the user. `work`: the record before the
    message.

    Resets two fields, because they are only about the time before the message. `cited` (the commands that the
    agent named in its last call of `finish`) becomes empty. `is_questioned` becomes False, so that the agent
    can again be told that the log does not prove its claims.
    """
    return replace(work, cited=(), is_questioned=False)


def _after_file(work: Work, name: str, action: JsonObject, seen: JsonObject) -> Work:
    if seen.get("is_error", False):
        return work
    files = _files(action)
    work = replace(work, recent=_latest(work.recent, files))
    is_view = name == "read_file" or action.get("command") == "view"
    return work if is_view else _changed(work, files)


def _after_command(work: Work, call: ActionEvent, action: JsonObject, seen: JsonObject) -> Work:
    event_id, command = call.id, str(action.get("command") or action.get("code") or "").strip()
    is_follow_up = not command or bool(action.get("is_input"))
    if is_follow_up:
        if work.running is None:
            return work
        event_id, command = work.running
    kind = "runs" if call.tool_name != "terminal" else kind_of(command)
    code = seen.get("exit_code")
    exit_code = code if isinstance(code, int) and code >= 0 else None
    if kind == "looks":
        return replace(work, running=None, has_hidden_work=work.has_hidden_work or not work.is_changed)
    if kind == "changes":
        work = work if is_follow_up else _changed(work, ())
        return replace(work, running=None)
    if call.tool_name != "terminal":
        exit_code = 1 if seen.get("is_error") else 0
    elif exit_code is None and not seen.get("timeout"):
        return work  # it was refused
    is_test = kind == "tests"
    # The exit code of `pytest | tail` is that of `tail`.
    known_code = None if is_test and not tells_result(command) else exit_code
    ran = Ran(event_id, command[:_MAX_COMMAND_CHARS], known_code, is_test)
    others = tuple(one for one in work.ran if one.event_id != event_id)
    return replace(
        work,
        ran=(*others, ran)[-MAX_COMMANDS:],
        running=(event_id, command) if exit_code is None else None,
        is_reported=False,
    )


def _changed(work: Work, files: Sequence[str]) -> Work:
    changed = tuple(dict.fromkeys((*work.changed, *files)))[-MAX_FILES:]
    return replace(
        work, changed=changed, is_changed=True, ran=(), running=None, has_hidden_work=False, is_reported=False
    )


def _files(action: JsonObject) -> list[str]:
    path = action.get("path") or action.get("file_path")
    if isinstance(path, str):
        return [path]
    return _PATCHED.findall(str(action.get("patch") or action.get("input") or ""))


def _latest(recent: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    return (*(one for one in recent if one not in files), *files)[-MAX_RECENT:]


def _plan(seen: JsonObject) -> str:
    tasks = [one for one in seen.get("task_list") or [] if isinstance(one, dict)]
    return "\n".join(f"- {one.get('status', 'todo')}: {one.get('title', '')}" for one in tasks)


def _cited(call: ActionEvent) -> tuple[str, ...]:
    given = orjson.loads(call.tool_call.arguments).get("checked")
    given = given.splitlines() if isinstance(given, str) else given
    if not isinstance(given, list):
        return ()
    return tuple(str(one).strip() for one in given if str(one).strip())[:MAX_COMMANDS]


def _is_same(cited: str, ran: str) -> bool:
    """Returns whether a command that the agent named (`cited`) is the command that ran (`ran`). They count as
    the same command if one of the two texts contains the other.
    """
    plain, ran_command = " ".join(cited.strip("`$ ").split()), " ".join(ran.split())
    return bool(plain) and (plain in ran_command or ran_command in plain)
