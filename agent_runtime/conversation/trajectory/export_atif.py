"""Exports a conversation in the Agent Trajectory Interchange Format (ATIF), whose data types are in
events/atif_writer.py.
"""

from collections.abc import Iterator
from pathlib import Path

from agent_runtime.conversation.event_log.list_entry import read_info
from agent_runtime.conversation.event_log.log import reading
from agent_runtime.conversation.info import to_utc
from agent_runtime.events.atif_writer import AtifWriter
from agent_runtime.events.union import parse_event
from agent_runtime.version import VERSION


def atif_chunks(directory: Path) -> Iterator[bytes]:
    """Yields the exported JSON document of the conversation in this directory, piece by piece. If the user
    went back to an earlier event, the abandoned events after it are left out. Raises LogMissingError if there
    is no conversation.
    """
    info = read_info(directory)
    writer = AtifWriter(str(info.id), version=VERSION, model=info.agent["llm"]["model"], moment_of=to_utc)
    yield writer.begin()
    with reading(directory) as log:
        for record in log.branch(info.leaf_event_id, through_seq=log.last_seq):
            if written := writer.add(parse_event(record.body)):
                yield written
    yield writer.end()
