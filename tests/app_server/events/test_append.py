"""Tests of appending to a log: events may arrive several times and in overlapping batches, and the log has
each event once.
"""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app_server.core.database import Database
from app_server.core.errors import Conflict
from app_server.events import log
from app_server.events.schemas import DurableFrame, durable_frame
from tests.app_server.tables import create_tables

pytestmark = pytest.mark.both_databases


def frame(seq: int, event_id: str | None = None) -> DurableFrame:
    event = {
        "id": event_id or f"event-{seq}",
        "kind": "PauseEvent",
        "source": "user",
        "timestamp": f"2026-01-01T00:00:{seq % 60:02}",
    }
    return DurableFrame(type="durable", seq=seq, event=event)


async def open_database(path: Path) -> Database:
    database = Database(f"sqlite+aiosqlite:///{path}")
    await create_tables(database)
    return database


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.tuples(st.integers(1, 25), st.integers(1, 10)), max_size=25))
def test_any_overlapping_batches_give_exactly_the_log(tmp_path: Path, batches: list[tuple[int, int]]) -> None:
    async def deliver() -> None:
        database = await open_database(tmp_path / f"{uuid4().hex}.sqlite3")
        conversation_id, reached = uuid4(), 0
        refusals: list[tuple[object, object]] = []
        for first, length in batches:
            frames = [frame(seq) for seq in range(first, first + length)]
            try:
                async with database.session() as session:
                    appended = await log.append(session, conversation_id, frames)
            except Conflict as conflict:
                told = (conflict.code, conflict.extra["acknowledged_seq"], first > reached + 1)
                refusals.append((told, ("seq_gap", reached, True)))
                continue
            assert [new.seq for new in appended.new] == list(range(reached + 1, first + length))
            reached = max(reached, first + length - 1)
            assert appended.acknowledged_seq == reached
        async with database.read() as session:
            stored = await log.read_frames(
                session, conversation_id, after_seq=0, through_seq=reached, limit=1000
            )
        await database.close()
        assert all(told == expected for told, expected in refusals)
        assert stored == [durable_frame(seq, frame(seq).body) for seq in range(1, reached + 1)]

    asyncio.run(deliver())


@pytest.mark.parametrize(
    "frames",
    [
        [frame(2, "other")],
        [frame(3, "event-1")],
        [frame(1, "event-2")],
        [frame(3), frame(4, "event-3")],
        [frame(3), frame(3, "other")],
    ],
    ids=["known-position", "known-event-later", "swapped", "twice-in-a-batch", "position-twice"],
)
async def test_a_position_or_an_event_never_gets_a_second_meaning(
    tmp_path: Path, frames: list[DurableFrame]
) -> None:
    database = await open_database(tmp_path / "log.sqlite3")
    conversation_id = uuid4()
    async with database.session() as session:
        await log.append(session, conversation_id, [frame(1), frame(2)])

    with pytest.raises(Conflict) as refused:
        async with database.session() as session:
            await log.append(session, conversation_id, frames)

    assert refused.value.code == "seq_conflict"
    async with database.read() as session:
        assert await log.last_seq(session, conversation_id) == 2
    await database.close()
