"""Events with large parts reach the SDK client complete, from the agent server and from the app server."""

import base64
import json
import os
import subprocess
import zipfile
from pathlib import Path

from openhands.sdk import ImageContent, Message, TextContent
from openhands.sdk.event import Event, MessageEvent, ObservationEvent
from openhands.tools.terminal import TerminalObservation

from tests.compat.conftest import Begin, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, say

ROOT = Path(__file__).parents[2]
PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(90_000)).decode()}"
LONG = "a long output\n" * 10_000
IMAGE = ImageContent(image_urls=[PICTURE])
# A program that runs in our environment. It imports the conversation and reads its events over HTTP.
ASK = """
import json, sys
from pathlib import Path
from tests.support.server import AppServerProcess

home, archive = map(Path, sys.argv[1:])
with AppServerProcess(home, sandbox="process") as server, server.client() as client:
    zipped = {"content": archive.read_bytes(), "headers": {"Content-Type": "application/zip"}}
    made = client.post("/app-conversations/import", **zipped).raise_for_status().json()
    url = f"/conversation/{made['id']}/events"
    page = client.get(f"{url}/search").raise_for_status().json()["items"]
    ids = [event["id"] for event in page]
    single = client.get(url, params={"id": ids}).raise_for_status().json()
    sys.stdout.write(json.dumps([page, single]))
"""


def test_a_large_picture_comes_back_whole_from_the_agent_server(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Seen."))
    heard = []
    conversation = begin(callbacks=[heard.append])
    conversation.send_message(Message(role="user", content=[TextContent(text="See."), IMAGE]))
    conversation.run(timeout=PATIENCE_SECONDS)

    for events in (heard, conversation.state.events):
        (sent, _) = only(events, MessageEvent)
        assert sent.llm_message.content[1].image_urls == [PICTURE]


def test_large_parts_come_back_whole_from_the_app_server(tmp_path: Path):
    said = MessageEvent(source="user", llm_message=Message(role="user", content=[IMAGE]))
    observation = TerminalObservation.from_text(LONG, command="seq")
    seen = ObservationEvent(tool_name="terminal", tool_call_id="c1", action_id="a1", observation=observation)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("meta.json", "{}")
        for number, event in enumerate((said, seen)):
            archive.writestr(f"event_{number}_e.json", event.model_dump_json())

    command = [os.environ["SLIPWAY_PYTHON"], "-c", ASK, tmp_path / "home", tmp_path / "export.zip"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    for events in json.loads(asked.stdout):
        assert [Event.model_validate(event) for event in events] == [said, seen]
