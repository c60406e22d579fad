"""Runs a scripted model that answers at once, in a separate process. So its CPU time is not counted for the
server that is measured.

The process supports only the necessary part of OpenAI's chat completions API. The URL of a request names the
plan that the model follows: a number of calls of the terminal, then a call of `finish`. A plan can hold back
its reply at some steps, so that the benchmark can measure the server while the server waits. All times are of
the machine's monotonic clock, which the benchmark also uses.
"""

import asyncio
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_HEADER_BYTES = 64 * 1024
PLACEHOLDER = "{step}"


@dataclass
class Plan:
    """The script for the model calls of one conversation, and the times of these calls.

    `command`: the terminal command of each step; `{step}` in it is replaced by the number of the step, from
    0. `steps`: the number of terminal commands before `finish`. `holds`: the steps whose answers are held
    back until they are released. `asked`, `answered`: when each request arrived, and when it was answered.
    `released`: the last step that was released; -1 means none.
    """

    command: str
    steps: int
    holds: frozenset[int] = frozenset()
    asked: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    released: int = -1

    async def answer(self, key: str) -> bytes:
        step = len(self.asked)
        self.asked.append(time.monotonic())
        self.changed.set()
        while step in self.holds and self.released < step:
            await _next(self.changed)
        self.answered.append(time.monotonic())
        return orjson.dumps(_completion(key, step, self._call(step)))

    async def wait_for(self, step: int) -> None:
        while len(self.asked) <= step:
            await _next(self.changed)

    def release(self, step: int) -> None:
        self.released = step
        self.changed.set()

    def _call(self, step: int) -> tuple[str, dict[str, str]]:
        if step < self.steps:
            return "terminal", {"command": self.command.replace(PLACEHOLDER, str(step))}
        return "finish", {"message": "done"}


async def _next(changed: asyncio.Event) -> None:
    changed.clear()
    await changed.wait()


def call_id(key: str, step: int) -> str:
    """Returns the id of the tool call with which a plan answers. `key`: the id of the plan, as in its URL.
    `step`: the number of the answer, from 0.
    """
    return f"call_{key}_{step}"


def _completion(key: str, step: int, call: tuple[str, dict[str, str]]) -> dict[str, Any]:
    name, arguments = call
    function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
    calls = [{"id": call_id(key, step), "type": "function", "function": function}]
    return {
        "id": f"reply_{key}_{step}",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "tool_calls": calls},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


class Model:
    """The HTTP server of the scripted model. The benchmark stores plans in it, and the agent servers send
    model calls to it.
    """

    def __init__(self) -> None:
        self._plans: dict[str, Plan] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        reply = await self._route(method, path.strip("/").split("/"), body)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (len(reply), reply)
        )
        await writer.drain()

    async def _route(self, method: str, path: list[str], body: bytes) -> bytes:
        key = path[1]
        match method, path[2:]:
            case "POST", ["v1", *_]:
                return await self._plans[key].answer(key)
            case "PUT", []:
                wanted = orjson.loads(body)
                self._plans[key] = Plan(wanted["command"], wanted["steps"], frozenset(wanted["holds"]))
            case "GET", ["asked", step]:
                await self._plans[key].wait_for(int(step))
            case "POST", ["release", step]:
                self._plans[key].release(int(step))
        plan = self._plans[key]
        return orjson.dumps({"asked": plan.asked, "answered": plan.answered})


async def _serve(port: int) -> None:
    server = await asyncio.start_server(Model().serve, "127.0.0.1", port, limit=MAX_HEADER_BYTES)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
