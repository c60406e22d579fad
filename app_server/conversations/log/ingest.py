"""Stores the events that a sandbox reports, and sends the events to the clients that follow the conversation.

One transaction writes the events and the conversation's row, because fields of the row are computed from the
events.
"""

from dataclasses import replace
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import undefer

from app_server.callbacks.matching import enqueue_matching
from app_server.callbacks.tasks import TRIGGER
from app_server.conversations.live.change_notices import channels_of, tell
from app_server.conversations.log import folded_state, full_log, message_texts
from app_server.conversations.log.full_log import LogFull, add_to_size, require_open
from app_server.conversations.log.memory_writer import take_over_approvals, take_over_proposals
from app_server.conversations.log.projection import Projection, fold
from app_server.conversations.models import Conversation
from app_server.conversations.trigger_progress import tell_of_progress
from app_server.conversations.view import Viewer
from app_server.core.database import Database, now
from app_server.core.errors import NotFound
from app_server.core.pubsub import LOOK, Frame, PubSub
from app_server.events import log
from app_server.events.log import Appended
from app_server.events.schemas import DurableFrame, EventsReport
from app_server.settings.models import is_recorded


async def ingest(
    database: Database,
    pubsub: PubSub,
    viewer: Viewer,
    sandbox_id: UUID,
    conversation_id: UUID,
    report: EventsReport,
) -> int:
    """Stores the events that a sandbox reports, and returns the position of the newest stored event.

    Raises NotFound if the sandbox has no such conversation. Raises Conflict `seq_gap` if events are missing
    between the last stored event and the first reported event. Raises Conflict `seq_conflict` if the log has
    a different event at the position of a reported event. Raises LogFull if the log has reached its maximum
    size; then the sandbox stops reporting this conversation.

    Events that are in the log already may be unknown to the clients: an app server can be killed after it has
    stored a report and before it has sent the events. So a repeated report also makes the live streams look
    for stored events, and sends the current state of the conversation.
    """
    try:
        async with database.session() as session:
            conversation = await _locked(session, sandbox_id, conversation_id)
            appended = await log.append(session, conversation_id, report.durable)
            add_to_size(conversation, appended)
            await message_texts.add(session, conversation_id, appended.new)
            status = conversation.execution_status
            changed = project(conversation, appended)
            if conversation.execution_status != status:
                await tell_of_progress(session, conversation_id)
            await take_over_proposals(session, conversation, appended.new)
            await take_over_approvals(session, conversation, appended.new)
            events = ((frame.seq, frame.event) for frame in appended.new)
            sets_off = conversation.trigger != TRIGGER and conversation.parent_conversation_id is None
            await enqueue_matching(
                session, conversation.user_id, conversation_id, events, sets_off_tasks=sets_off
            )
            await session.flush()
            is_told = changed or len(appended.new) < len(report.durable)
            shown = (await viewer.frames(session, conversation_id))[1:] if is_told else []
            channels = await channels_of(session, conversation_id) if is_told else ()
    except LogFull:
        await _end(database, pubsub, viewer, sandbox_id, conversation_id)
        raise
    pubsub.publish(conversation_id, [*_live(report, appended), *shown])
    tell(pubsub, channels, conversation_id)
    return appended.acknowledged_seq


async def _end(
    database: Database, pubsub: PubSub, viewer: Viewer, sandbox_id: UUID, conversation_id: UUID
) -> None:
    """Ends the conversation's log, because it has reached its maximum size. Sends the last events to the
    clients that follow the conversation. Raises LogFull if the log was ended before. Raises NotFound if the
    sandbox has no such conversation.
    """
    async with database.session() as session:
        conversation = await _locked(session, sandbox_id, conversation_id)
        ended = await full_log.end(session, conversation)
        project(conversation, ended)
        await session.flush()
        shown = (await viewer.frames(session, conversation_id))[1:]
        channels = await channels_of(session, conversation_id)
    pubsub.publish(conversation_id, [*(frame.frame for frame in ended.new), *shown])
    tell(pubsub, channels, conversation_id)


async def _locked(session: AsyncSession, sandbox_id: UUID, conversation_id: UUID) -> Conversation:
    query = (
        select(Conversation)
        .where(
            Conversation.id == conversation_id,
            Conversation.sandbox_id == sandbox_id,
            Conversation.deleted_at.is_(None),
        )
        .options(undefer(Conversation.folded_state))
        .with_for_update()
    )
    conversation = await session.scalar(query)
    if conversation is None:
        raise NotFound("No such conversation.")
    require_open(conversation)
    return conversation


def project(conversation: Conversation, appended: Appended) -> bool:
    """Updates the fields of the conversation's row that are computed from the event log, such as title and
    cost. `appended`: the new events. Returns whether a field other than `last_seq` has changed. The row's
    column `folded_state` must be loaded.
    """
    if not appended.new:
        return False
    _fold_state(conversation, appended)
    before = Projection(
        last_seq=conversation.last_seq,
        execution_status=conversation.execution_status,
        title=conversation.title,
        unsent_title=conversation.unsent_title,
        llm_model=conversation.llm_model,
        metrics=conversation.metrics,
        goal=conversation.goal,
        open_questions=conversation.open_questions,
    )
    after = before
    for frame in appended.new:
        after = fold(after, frame.seq, frame.event)
    conversation.last_seq = after.last_seq
    conversation.execution_status = after.execution_status
    if before.title is None and is_recorded(conversation.llm_model or ""):
        conversation.unsent_title = after.title
    conversation.title = after.title
    conversation.llm_model = after.llm_model
    conversation.metrics = dict(after.metrics) if after.metrics is not None else None
    conversation.goal = dict(after.goal) if after.goal is not None else None
    conversation.open_questions = after.open_questions
    conversation.updated_at = now()
    return replace(after, last_seq=before.last_seq) != before


def _fold_state(conversation: Conversation, appended: Appended) -> None:
    state = folded_state.restored(conversation.folded_state)
    # If the state is behind, the log is older than this column; log/window.py makes the state then.
    if state.seq == conversation.last_seq:
        events = ((frame.seq, frame.event) for frame in appended.new)
        conversation.folded_state = folded_state.fold_all(state, events).stored()


def _live(report: EventsReport, appended: Appended) -> list[Frame]:
    """Returns the messages (frames) of a sandbox's report that must be sent to the clients. `appended`: says
    which events of the report were not in the log before.

    If all events of the report are new, returns all frames. If the sandbox has repeated an earlier report,
    some of its events were already in the log. Then returns only the frames after the last of these old
    events, so that the clients do not get a frame twice. If no event is new, the first frame is LOOK, so that
    clients get the old events that they have missed. A new event needs no LOOK: it makes the live streams
    send the missing events before it.
    """
    new = {frame.seq for frame in appended.new}
    known = [
        index
        for index, frame in enumerate(report.frames)
        if isinstance(frame, DurableFrame) and frame.seq not in new
    ]
    fresh = report.frames[known[-1] + 1 :] if known else report.frames
    look = [LOOK] if known and not new else []
    return [*look, *(frame.frame for frame in fresh)]
