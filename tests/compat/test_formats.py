"""The SDK client reads our recorded logs. They contain every kind of event; the client knows only a fixed set
of kinds.
"""

import json
from pathlib import Path
from typing import Any

import openhands.tools.apply_patch  # the client knows the kinds of tools that it has imported
import openhands.tools.gemini
import openhands.tools.glob
import openhands.tools.grep
import openhands.tools.planning_file_editor
import openhands.tools.task  # noqa: F401
import pytest
from openhands.sdk.event import Event

LOGS = sorted((Path(__file__).parents[1] / "fixtures" / "logs").glob("*.log.jsonl"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name.removesuffix(".log.jsonl"))
def test_a_recorded_log_is_read_and_written_again_unchanged(path: Path):
    for line in path.read_text().splitlines():
        event = json.loads(line)["event"]

        again = Event.model_validate(event).model_dump(mode="json", exclude_none=True)

        assert _alike(again) == _alike(event)


def _alike(event: dict[str, Any]) -> dict[str, Any]:
    """Makes an event and its form after the client comparable: sorts ids, removes {} (the client's form of
    null) and titles.
    """
    if "forgotten_event_ids" in event:
        event["forgotten_event_ids"].sort()
    if event.get("value") == {}:
        del event["value"]
    for tool in event.get("tools", []):
        del tool["title"]
    return event
