"""Our recorded logs, of every kind of event and feature, read by the client's closed union of kinds."""

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
    """Without what the client makes of it: a set of ids, {} for a value of null, titles by the class."""
    if "forgotten_event_ids" in event:
        event["forgotten_event_ids"].sort()
    if event.get("value") == {}:
        del event["value"]
    for tool in event.get("tools", []):
        del tool["title"]
    return event
