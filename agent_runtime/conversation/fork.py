"""Makes a copy of a conversation (a fork). Each of the two conversations continues with its log, without
effect on the other log. But both agents work in the same directory.
"""

import asyncio
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import open_conversation
from agent_runtime.conversation.errors import EventNotFoundError
from agent_runtime.conversation.event_log.log import EventLog, LogInUseError, Record, reading
from agent_runtime.conversation.event_log.spec_signature import SpecSigner
from agent_runtime.conversation.run.recovery import give_up
from agent_runtime.conversation.spec import Spec
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.tools.delegation import ALONE, Delegation
from agent_runtime.wire import ForkRequest
from agent_runtime.workspace.users import server_files

_UPDATE = "ConversationStateUpdateEvent"
_TASKS = "TASKS.json"


async def fork(
    source: ConversationEngine, directory: Path, wanted: ForkRequest, delegation: Delegation = ALONE
) -> ConversationEngine:
    """Copies a conversation into `directory` and returns the copy's engine. The copy has the events up to
    `wanted.from_event_id`; if this id is None, the copy has all events. The agent of the copy does not start
    to work. The copy uses the API key of the original conversation's model.

    `delegation`: the functions with which the copy starts sub-agents. Raises EventNotFoundError if the event
    does not exist. Raises FileExistsError if the directory already holds a conversation.
    """
    leaf = wanted.from_event_id or source.state.leaf_event_id
    found = source.log.get(leaf) if leaf is not None else None
    if wanted.from_event_id is not None and (found is None or found.kind == _UPDATE):
        raise EventNotFoundError.of(wanted.from_event_id)
    spec = _spec_of(source, wanted, leaf)
    stats = source.state.stats
    await asyncio.to_thread(
        _copy, source.directory, leaf, source.log.last_seq, directory, spec, source.log.signer
    )
    copy = open_conversation(
        directory,
        source.run_context.llm_client,
        agent=source.agent,
        slots=source.run_context.slots,
        delegation=delegation,
        key_encryption=source.keys.key_encryption,
        signer=source.log.signer,
    )
    copy.secrets.adopt(source.secrets)
    copy.keep_secrets()
    # Calls that still run in the original conversation have no result in the copy.
    give_up(copy.run_context, by="by the fork of this conversation")
    if not wanted.reset_metrics:
        copy.emit(ConversationStateUpdateEvent(key="stats", value=stats))
    return copy


def _spec_of(source: ConversationEngine, wanted: ForkRequest, leaf: str | None) -> Spec:
    now = source.info()
    tags = now.tags if wanted.tags is None else wanted.tags
    request = source.spec.request.model_copy(
        update={
            "title": wanted.title or now.title,
            "tags": tags,
            "agent": now.agent,
            "confirmation_policy": now.confirmation_policy,
            "security_analyzer": now.security_analyzer,
            "mcp_approved": source.run_context.mcp_approvals.approved(),
        }
    )
    return source.spec.model_copy(
        update={
            "id": wanted.id or uuid4(),
            "created_at": datetime.now(UTC),
            "request": request,
            "wants_title": False,
            "forked_from_conversation_id": source.id,
            "forked_from_event_id": leaf,
            "parent_conversation_id": None,
        }
    )


def _copy(
    source: Path, leaf: str | None, last_seq: int, directory: Path, spec: Spec, signer: SpecSigner
) -> None:
    """Writes the log of the copied conversation into `directory`, with the agent's task list if there is one.
    Must be called in a thread, because copying a long log takes a while. `source`: the directory of the
    original conversation. `leaf`: the id of the last event of the chat to copy; None means no events.
    `last_seq`: the last position of the original log when the copy was requested; later events are ignored.
    """
    with reading(source) as stored:
        records = list(stored.branch(leaf, through_seq=last_seq))
    try:
        log = EventLog(directory, create=True, signer=signer)
    except LogInUseError as error:
        raise FileExistsError(str(directory)) from error
    try:
        if log.get_meta("spec") is not None:
            raise FileExistsError(str(directory))
        copied = list(_renumbered(record for record in records if record.kind != _UPDATE))
        # Both are written in one transaction: a log with events and without a spec could neither be opened
        # nor be written again.
        with log.transaction():
            log.append(copied)
            log.set_spec(spec.model_dump_json())
    finally:
        log.close()
    if (source / _TASKS).exists():
        with server_files():
            shutil.copy(source / _TASKS, directory / _TASKS)


def _renumbered(records: Iterable[Record]) -> Iterator[Record]:
    """Yields copies of the records with new positions 1, 2, 3 … without gaps. Changes each `seen_seq` (the
    position of the last event that the model had read) to the new position of that event. If that event is
    not among the records, the new position of the last record before it is used.
    """
    old: list[int] = []
    for position, record in enumerate(records, start=1):
        seen = None if record.seen_seq is None else bisect_right(old, record.seen_seq)
        old.append(record.seq)
        yield replace(record, seq=position, seen_seq=seen)
