"""Repairs a conversation's log that was restored from a backup or copied from another conversation: adds
missing events, and tells the agent that the files in the workspace may be older or newer than the events.

The conversation's state needs no separate repair, because it is computed from the events when the server
loads the conversation again.
"""

import sqlite3
from collections.abc import Callable
from uuid import UUID

from pydantic_core import to_json

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import LogDiffersError, LogGapError
from agent_runtime.conversation.event_log.dangling_calls import give_up
from agent_runtime.conversation.event_log.log import EventLog, Record
from agent_runtime.conversation.event_log.model_input_cursor import ModelInputCursor
from agent_runtime.conversation.event_log.state import CHILDREN
from agent_runtime.conversation.run.goal import interruption
from agent_runtime.events.base import Event
from agent_runtime.events.message import runtime_message
from agent_runtime.events.state import (
    FULL_STATE,
    ConversationStateUpdateEvent,
    ExecutionStatus,
    status_update,
)
from agent_runtime.events.union import validate_event
from agent_runtime.wire import CatchUpRequest, Forked, Restored

RESTORED = "restored"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
tells users about a restore from a backup: the time of the restored files, and how many events are newer than
these files.
"""
FORKED = "forked"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
tells users that the conversation is a copy: the field contains the id of the original conversation and the
time of the copied files.
"""

_BY = "by the loss of the machine that it ran on"


def append_missing(log: EventLog, missing: CatchUpRequest) -> None:
    """Adds the events that the log does not have yet, with their given ids and positions. `missing`: the
    events that another copy of the log has. A second call with the same events changes nothing.

    Raises LogGapError if there is a gap between the log's last event and the new events. Raises
    LogDiffersError if the log has other events at the same positions. Raises pydantic.ValidationError if an
    event is not valid. After an error, no event is added.
    """
    _check_start(log, missing)
    records = _records(log, missing)
    known = [record for record in records if record.seq <= log.last_seq]
    for record in known:
        found = log.at(record.seq)
        if found is None or found.id != record.id:
            raise LogDiffersError
    try:
        log.append(records[len(known) :])
    except sqlite3.IntegrityError as error:
        raise LogDiffersError from error
    # The caller already has these events, so they need not be reported to it.
    log.acknowledge(max(log.acknowledged_seq, missing.after_seq + len(records)))


def _check_start(log: EventLog, missing: CatchUpRequest) -> None:
    if missing.after_seq > log.last_seq:
        raise LogGapError
    last = log.at(missing.after_seq)
    if (last.id if last else None) != missing.after_id:
        raise LogDiffersError


def _records(log: EventLog, missing: CatchUpRequest) -> list[Record]:
    seen = ModelInputCursor.after(log.last_model_record())
    records = []
    for seq, body in enumerate(missing.events, start=missing.after_seq + 1):
        event = validate_event(body)
        if isinstance(event, ConversationStateUpdateEvent) and event.key == FULL_STATE:
            raise LogDiffersError("Such an event stands in no log.")
        # For events that are in the log already, `seen_seq` is stored there.
        seen_seq = seen.by(event, seq) if seq > log.last_seq else None
        records.append(
            Record(seq, event.id, event.kind, event.source, event.timestamp, seen_seq, to_json(body))
        )
    return records


def tell_restored(
    conversation: ConversationEngine, restored: Restored, is_there: Callable[[UUID], bool]
) -> None:
    """Logs a message that tells the agent that its machine was lost, and from which time the files of its
    workspace are. Also logs the end of everything that cannot continue: the tool calls without a result, the
    work on the goal, and the child conversations that no longer exist. Does nothing if the last event of the
    chat is already the message about this restore.

    Actions that wait for confirmation continue to wait, because none of them has begun. If the agent was
    working, the conversation is paused, so that the agent does not continue automatically. `restored`: the id
    and time of the backup, if there was one, and the number of lost events. `is_there`: returns whether a
    conversation with the given id exists.
    """
    state = conversation.state
    mark = f"restored-{restored.id}-"
    if not state.has_system_prompt or (state.leaf_event_id or "").startswith(mark):
        return
    events: list[Event] = []
    if state.status is not ExecutionStatus.WAITING_FOR_CONFIRMATION:
        events += give_up(state.pending, conversation.agent, conversation.tools, by=_BY)
        events += interruption(state.goal)
    children = [str(child) for child in state.children if is_there(child)]
    if len(children) < len(state.children):
        events.append(ConversationStateUpdateEvent(key=CHILDREN, value=children))
    if state.status is ExecutionStatus.RUNNING:
        events.append(status_update(ExecutionStatus.PAUSED))
    facts = restored.model_dump(mode="json", include={"as_of", "lost_events"})
    events.insert(0, ConversationStateUpdateEvent(key="agent_state", value={RESTORED: facts}))
    # The message is logged last. So if it is in the log, all other events are there, too.
    message = runtime_message(_words(restored)).model_copy(update={"id": f"{mark}{state.last_seq}"})
    conversation.emit(*events, message)
    conversation.publish_full_state()


def tell_forked(conversation: ConversationEngine, forked: Forked) -> None:
    """Ends the tool calls and tasks that were unfinished in the original conversation, and logs a message
    that tells the agent that it works in a copy. Does nothing if the log already contains the message about
    this copy. `forked`: the id of the original conversation, and the time at which its files were copied.
    """
    state = conversation.state
    if not state.has_system_prompt or conversation.log.get(forked.message_id) is not None:
        return
    facts = forked.model_dump(mode="json", include={"conversation_id", "as_of"})
    by = "by the fork of this conversation"
    message = runtime_message(
        "This conversation is a copy of another one. The workspace is a copy of the files of "
        f"{forked.as_of:%Y-%m-%d %H:%M} UTC, which may be newer than the last event above. Its directory is "
        f"{conversation.spec.working_dir}. Commands, servers and sub-agents of the other conversation do not "
        "run here. Changes here do not reach the other conversation. Look at the files before you continue."
    )
    conversation.emit(
        ConversationStateUpdateEvent(key="agent_state", value={FORKED: facts}),
        *give_up(state.pending, conversation.agent, conversation.tools, by=by),
        message.model_copy(update={"id": forked.message_id}),
    )
    conversation.publish_full_state()


def _words(restored: Restored) -> str:
    count = restored.lost_events
    later = f"{count} later event{'s' * (count != 1)} of this conversation"
    if restored.as_of is None:
        files = "It had no backup yet: its workspace begins anew. What was done in this conversation before"
    else:
        moment = f"{restored.as_of:%Y-%m-%d %H:%M} UTC"
        files = f"The workspace is that of a backup of {moment}. What {later} did to files"
    return (
        f"The machine that this conversation worked on was lost. {files} is not there, and no command that "
        "ran before is running any more. Look at the files as they are before you build on them."
    )
