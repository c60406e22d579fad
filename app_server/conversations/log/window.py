"""Reads what a client needs to open a long conversation: the last events of the log, and the folded state
(the events that determine the settings, the task list and the open tool calls).
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import orjson
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.log.folded_state import FoldedState, fold_all, restored
from app_server.conversations.models import Conversation
from app_server.core.database import Database
from app_server.core.pubsub import Frame
from app_server.events import log, windows
from app_server.events.windows import Window

_PAGE = 500


async def state_of(database: Database, session: AsyncSession, conversation_id: UUID) -> FoldedState:
    """Returns the positions of the events that determine the conversation's settings, task list and open tool
    calls (the folded state). Reads the stored folded state. If it does not include the newest events of the
    log, reads these events, computes the new folded state from them, and stores it.
    """
    state = await _stored(session, conversation_id)
    last_seq = await log.last_seq(session, conversation_id)
    if state.seq >= last_seq:
        return state
    while state.seq < last_seq:
        bodies = await log.read_bodies(session, conversation_id, from_seq=state.seq + 1, limit=_PAGE)
        if not bodies:
            return state
        state = await asyncio.to_thread(_folded, state, bodies)
    async with database.session() as writing:
        # Stored only if no event came meanwhile: the state would lack that event.
        await writing.execute(
            update(Conversation)
            .where(Conversation.id == conversation_id, Conversation.last_seq == state.seq)
            .values(folded_state=state.stored())
        )
    return state


async def state_frames(
    session: AsyncSession, conversation_id: UUID, state: FoldedState, window: Window
) -> list[Frame]:
    """Returns the events of the folded state that are not in `window`, as messages (frames) for a client. The
    folded state is the events that determine the conversation's settings, task list and open tool calls.
    `window`: consecutive events of the log.
    """
    wanted = {seq for seq in state.positions if not window.first_seq <= seq <= window.last_seq}
    return await windows.read_at(session, conversation_id, wanted)


async def opening(database: Database, conversation_id: UUID, limit: int) -> tuple[int, Frame]:
    """Returns two values that a client needs to open the conversation. The first value is the position of the
    first event in the window (the newest events of the log, at most `limit`). The second value is a message
    (frame) for the client. It contains the positions of the first and last event in the window, and the
    earlier events that determine the settings, the task list and the open tool calls.
    """
    async with database.read() as session:
        state = await state_of(database, session, conversation_id)
        window = await windows.newest(session, conversation_id, limit)
        frames = await state_frames(session, conversation_id, state, window)
    before = [frame for frame in frames if (frame.seq or 0) < window.first_seq]
    span = f'"first_seq":{window.first_seq},"last_seq":{window.last_seq}'
    text = f'{{"type":"window",{span},"state":{_array(before)}}}'
    return window.first_seq, Frame(text)


def to_json(window: Window, state: Sequence[Frame] | None) -> str:
    """Returns a window (consecutive events of the log) as the JSON text of the API's reply. `state`: the
    events outside the window that determine the settings, the task list and the open tool calls. If `state`
    is None, the field `state` of the reply is `null`.
    """
    shown = "null" if state is None else _array(state)
    return (
        f'{{"first_seq":{window.first_seq},"last_seq":{window.last_seq},"log_seq":{window.log_seq},'
        f'"state":{shown},"events":{_array(window.frames)}}}'
    )


async def _stored(session: AsyncSession, conversation_id: UUID) -> FoldedState:
    query = select(Conversation.folded_state).where(Conversation.id == conversation_id)
    return restored(await session.scalar(query))


def _folded(state: FoldedState, bodies: Sequence[str]) -> FoldedState:
    return fold_all(
        state, ((seq, orjson.loads(body)) for seq, body in enumerate(bodies, start=state.seq + 1))
    )


def _array(frames: Sequence[Frame]) -> str:
    return f"[{','.join(frame.text for frame in frames)}]"
