"""Records the logs in tests/fixtures/logs: `python -m tests.support.record_logs [--folds] [name ...]`.

Without names all scenes are run again. With `--folds` no scene is run: only the states computed from the
recorded logs are written again. Use that after a change that is meant to change these states, and check the
diff before you commit.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from agent_runtime.conversation.event_log.fold import Fold, fold_log
from agent_runtime.conversation.event_log.log import EventLog, Record, reading
from agent_runtime.conversation.event_log.replay import replay
from agent_runtime.conversation.event_log.state import State
from agent_runtime.llm.complete import LLMClient
from tests.agent_runtime.conversation.conftest import Conversations
from tests.support.log_acts import Stage
from tests.support.log_scenes import SCENES, Scene
from tests.support.scripted_llm import ScriptedLLM

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
USAGE_ID = "agent"
WHOLE_VIEWS = {"terminal", "side-by-side", "condensed", "went-back", "image-of-a-tool", "responses"}
"""The logs whose messages to the model are stored completely. For the other logs only digests are stored."""

_UUID = re.compile(rb"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}")
_TIMESTAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
_CALL_ID = re.compile(rb"call_[0-9a-f]{12,}")
_MACHINE = re.compile(rb'"(username|hostname|py_interpreter_path)":"[^"]*"')
_MINUTE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d")
_PORT = re.compile(rb"127\.0\.0\.1:\d+")
_DESCRIPTION = re.compile(rb'("description":")((?:[^"\\]|\\.){60})(?:[^"\\]|\\.)*')
_STATE: TypeAdapter[State] = TypeAdapter(State)


@dataclass(frozen=True)
class Recorded:
    """A log as it is stored in the fixtures. The position of an event is its line number."""

    name: str
    records: tuple[Record, ...]

    def write(self, directory: Path) -> EventLog:
        """Writes the events to a real event log in this directory and returns the log."""
        log = EventLog(directory, create=True)
        log.append(self.records)
        return log


def names() -> list[str]:
    return sorted(path.name.removesuffix(".log.jsonl") for path in LOGS.glob("*.log.jsonl"))


def read(name: str) -> Recorded:
    lines = (LOGS / f"{name}.log.jsonl").read_bytes().splitlines()
    return Recorded(name, tuple(_record(seq, line) for seq, line in enumerate(lines, start=1)))


def folded(log: EventLog) -> dict[str, Any]:
    """Returns what is computed from the log: the fields of the state that differ from an empty state, and
    digests of every prompt and of the current messages to the model.
    """
    fold = fold_log(log, USAGE_ID)
    prompts = [[prompt.event_id, digest(prompt.messages)] for prompt in replay(log, USAGE_ID)]
    view = [] if fold.state.pending else fold.view.messages()
    return {"state": state_of(fold), "prompts": prompts, "view": digest(view)}


def state_of(fold: Fold) -> dict[str, Any]:
    empty = _STATE.dump_python(State(), mode="json")
    state = _STATE.dump_python(fold.state, mode="json")
    return {name: value for name, value in state.items() if value != empty[name]}


def digest(messages: Sequence[bytes]) -> str:
    return blake2b(b"\n".join(messages), digest_size=16).hexdigest()


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((LOGS / f"{name}.fold.json").read_bytes())
    return found


def expected_view(name: str) -> bytes:
    return (LOGS / f"{name}.view.jsonl").read_bytes()


async def record(scene: Scene) -> None:
    with tempfile.TemporaryDirectory() as directory, ScriptedLLM() as llm:
        client = LLMClient()
        conversations = Conversations(Path(directory), llm, client)
        conversations.workspace.mkdir()
        conversation = await scene.play(Stage(conversations, llm))
        await conversations.close()
        await client.close()
        with reading(conversation.directory) as log:
            lines = list(_normal(log.records(), {str(conversations.path): "/scene"}))
    (LOGS / f"{scene.name}.log.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def write_folds(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        log = read(name).write(Path(directory))
        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        (LOGS / f"{name}.fold.json").write_bytes(orjson.dumps(folded(log), option=options))
        if name in WHOLE_VIEWS:
            view = fold_log(log, USAGE_ID).view.messages()
            (LOGS / f"{name}.view.jsonl").write_bytes(b"".join(message + b"\n" for message in view))
        log.close()


def _record(seq: int, line: bytes) -> Record:
    entry = orjson.loads(line)
    event = entry["event"]
    body = orjson.dumps(event)
    return Record(seq, event["id"], event["kind"], event["source"], event["timestamp"], entry["seen"], body)


def _normal(records: Iterator[Record], places: dict[str, str]) -> Iterator[bytes]:
    """Yields the records as lines that do not depend on the machine, folder and time of the recording.

    places: the text that replaces each folder.
    """
    ids: dict[bytes, bytes] = {}
    timestamps: dict[bytes, bytes] = {}

    def numbered(known: dict[bytes, bytes], form: str) -> Any:
        return lambda match: known.setdefault(match[0], form.format(len(known)).encode())

    for record in records:
        body = record.body
        for place, name in places.items():
            body = body.replace(place.encode(), name.encode())
        body = _UUID.sub(numbered(ids, "00000000-0000-4000-8000-{:012}"), body)
        body = _CALL_ID.sub(numbered(ids, "call_{:024}"), body)
        body = _TIMESTAMP.sub(numbered(timestamps, "2026-01-01T00:00:00.{:06}"), body)
        body = _MACHINE.sub(rb'"\1":"scene"', body)
        body = _MINUTE.sub(b"2026-01-01 00:00", body)
        body = _PORT.sub(b"127.0.0.1:1", body)
        if record.kind == "SystemPromptEvent":
            body = _DESCRIPTION.sub(rb"\1\2", body)
        yield b'{"seen":%b,"event":%b}' % (str(record.seen_seq or "null").encode(), body)


def main() -> None:
    wanted = {argument for argument in sys.argv[1:] if not argument.startswith("--")}
    if "--folds" not in sys.argv:
        LOGS.mkdir(exist_ok=True)
        for scene in SCENES:
            if not wanted or scene.name in wanted:
                asyncio.run(record(scene))
                sys.stdout.write(f"{scene.name}\n")
    for name in names():
        if not wanted or name in wanted:
            write_folds(name)


if __name__ == "__main__":
    main()
