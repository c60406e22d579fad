"""A scripted model: a real HTTP server on loopback. It speaks OpenAI's chat completions and Responses,
and Anthropic's messages, each of them streaming or not.

    def test_something(scripted_llm):                      # the fixture of tests/conftest.py
        scripted_llm.script(
            call("terminal", command="pytest -q", thought="Let me look."),
            calls(("grep", {"pattern": "x"}), ("finish", {"message": "done"})),
            say("All green."),
            fail(503, retry_after=0),                      # any HTTP error
            hang(),                                        # never answers
            cut(say("half a sentence"), after=2),          # connection lost in mid-stream
            raw(b"not even JSON"),                         # any body at all
            lambda request: say(f"You said {request.last_text}"),
        )
        ...LLM(model="openai/scripted", base_url=scripted_llm.base_url, api_key=scripted_llm.api_key)
        assert scripted_llm.requests[0].tool_names == ["terminal"]

One turn answers one request, in order. `hold(turn)` keeps its reply back until `.release()`:

        reply = hold(say("done"))
        scripted_llm.script(reply)
        await scripted_llm.wait_for_requests(1)            # the model is "thinking" now
        reply.release()

It runs in threads of its own, so it serves sync tests, async tests and other processes alike.
"""

import asyncio
import json
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.patience import PATIENCE_SECONDS


@dataclass(frozen=True)
class Turn:
    """What the model does with one request."""

    text: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    reasoning: str = ""
    reasoning_tokens: int = 0
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    encrypted_reasoning: str = ""
    finish_reason: str | None = None
    body: bytes | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 10
    cached_tokens: int = 0
    piece_chars: int = 8
    piece_delay_seconds: float = 0
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: str = ""
    cut_after_pieces: int | None = None
    gate: threading.Event | None = None

    def release(self) -> None:
        """Lets a held turn answer."""
        assert self.gate is not None, "only a held turn can be released"
        self.gate.set()


def say(text: str, **options: Any) -> Turn:
    """A plain text reply. Options are fields of Turn."""
    return Turn(text=text, **options)


def call(tool: str, *, thought: str = "", call_id: str | None = None, **arguments: Any) -> Turn:
    """A reply with one tool call; `thought` is the text beside it."""
    return Turn(text=thought, tool_calls=(_tool_call(tool, arguments, call_id),))


def calls(*pairs: tuple[str, dict[str, Any] | str], thought: str = "", **options: Any) -> Turn:
    """A reply with several tool calls. Arguments given as a string are sent as they are (also bad JSON)."""
    return Turn(text=thought, tool_calls=tuple(_tool_call(name, a, None) for name, a in pairs), **options)


def fail(status: int, *, error: str = "scripted failure", retry_after: float | None = None) -> Turn:
    """An HTTP error in OpenAI's error shape."""
    headers = () if retry_after is None else (("Retry-After", str(retry_after)),)
    return Turn(status=status, error=error, headers=headers)


def raw(body: bytes) -> Turn:
    """A reply of any bytes, as JSON; as one event of a stream if a stream was asked for."""
    return Turn(body=body)


def hold(turn: Turn) -> Turn:
    """The same turn, kept back until its `release()` is called or the client goes away."""
    return replace(turn, gate=threading.Event())


def hang() -> Turn:
    """Never answers; ends when the client hangs up or the server closes."""
    return hold(Turn())


def cut(turn: Turn, *, after: int) -> Turn:
    """Streams `after` pieces, then drops the connection."""
    return replace(turn, cut_after_pieces=after)


@dataclass(frozen=True)
class Request:
    """One request as it arrived. Header names are lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def items(self) -> list[dict[str, Any]]:
        """The input of a request for a response."""
        return list(self.body["input"])

    @property
    def tool_names(self) -> list[str]:
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools", [])]

    @property
    def last_text(self) -> str:
        return text_of(self.messages[-1])

    @property
    def bearer(self) -> str | None:
        """The key the caller authenticated with."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else None


def text_of(message: dict[str, Any]) -> str:
    """The text of a chat message, whether its content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


@dataclass
class ScriptedLLM:
    """The server. `script` adds turns; `requests` is what was asked; `cancelled` counts who hung up."""

    api_key: str = "sk-scripted-canary"
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    cancelled: int = 0
    fallback: Callable[[Request], Turn] | Turn | None = None
    """What answers once the script is used up; None: HTTP 400, which nobody retries."""
    aside: Turn | None = None
    """What answers requests without tools, such as for a title: they take no turn and are not recorded."""
    _turns: deque[Turn | Callable[[Request], Turn]] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closing: threading.Event = field(default_factory=threading.Event)

    def script(self, *turns: Turn | Callable[[Request], Turn]) -> None:
        with self._changed:
            self._turns.extend(turns)

    @property
    def base_url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def turns_left(self) -> int:
        return len(self._turns)

    async def wait_for_requests(self, count: int) -> None:
        """Returns once `count` requests have arrived in all."""
        await self.wait_until(lambda: len(self.requests) >= count)

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Returns once `is_true`, asked after every request, reply and hang-up."""
        await asyncio.to_thread(self._wait_until, is_true)

    def wait_for_request(self, count: int) -> None:
        """As `wait_for_requests`, for tests without an event loop."""
        self._wait_until(lambda: len(self.requests) >= count)

    def _wait_until(self, is_true: Callable[[], bool]) -> None:
        with self._changed:
            if not self._changed.wait_for(is_true, PATIENCE_SECONDS):
                raise TimeoutError(f"the model was asked {len(self.requests)} times")

    def __enter__(self) -> Self:
        self._server = _Server((self.host, 0), _Handler)
        self._server.llm = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="scripted-llm")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: Request) -> Turn:
        """Records the request and says what answers it."""
        if self.aside is not None and not request.tool_names:
            return self.aside
        with self._changed:
            self.requests.append(request)
            turn = self._turns.popleft() if self._turns else self.fallback
            self._changed.notify_all()
        if turn is None:
            turn = fail(400, error="the script has no more turns")
        return turn if isinstance(turn, Turn) else turn(request)

    def note_cancelled(self) -> None:
        with self._changed:
            self.cancelled += 1
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    llm: ScriptedLLM

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that hang up are part of the script, not a traceback on the terminal."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        request = self._read()
        if not request.route.endswith(("/chat/completions", "/responses", "/messages")):
            self._send_json(404, {"error": {"message": f"no route {request.path}"}})
            return
        turn = self.server.llm.take(request)
        if not self._wait_for_release(turn):
            return
        if turn.status != 200:
            self._send_json(turn.status, {"error": {"message": turn.error, "type": "scripted"}}, turn.headers)
        elif request.body.get("stream"):
            self._stream(turn, request)
        elif turn.body is not None:
            self._send_body(200, turn.body)
        else:
            self._send_json(200, _whole(turn, request))

    def _read(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path, headers, json.loads(body))

    def _wait_for_release(self, turn: Turn) -> bool:
        """False when the caller hung up, or the server closes, before the turn was released."""
        while turn.gate is not None and not turn.gate.wait(0.01):
            if self._caller_is_gone() or self.server.llm._closing.is_set():
                self._drop()
                return False
        return True

    def _caller_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.rfile.peek(1)  # type: ignore[attr-defined]

    def _drop(self) -> None:
        self.close_connection = True
        self.server.llm.note_cancelled()

    def _send_json(self, status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._send_body(status, json.dumps(body).encode(), headers)

    def _send_body(self, status: int, encoded: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Type", "application/json"), ("Content-Length", len(encoded))):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(encoded)

    def _stream(self, turn: Turn, request: Request) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._send_pieces(turn, request)
        except OSError:
            self._drop()

    def _send_pieces(self, turn: Turn, request: Request) -> None:
        for index, piece in enumerate(_encoded_pieces(turn, request)):
            if turn.cut_after_pieces is not None and index >= turn.cut_after_pieces:
                self.close_connection = True
                return
            if turn.piece_delay_seconds:
                time.sleep(turn.piece_delay_seconds)
            self._send_chunk(b"data: " + piece + b"\n\n")
        if request.route.endswith("/chat/completions"):
            self._send_chunk(b"data: [DONE]\n\n")
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is http.server's)
        """Quiet: requests are recorded instead."""


_ids = iter(range(1, 1_000_000_000))


def _tool_call(tool: str, arguments: dict[str, Any] | str, call_id: str | None) -> dict[str, Any]:
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": tool, "arguments": encoded}
    return {"id": call_id or f"call_{next(_ids)}", "type": "function", "function": function}


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "total_tokens": turn.prompt_tokens + turn.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
    }


def _whole(turn: Turn, request: Request) -> dict[str, Any]:
    if request.route.endswith("/responses"):
        return _response(turn, request)
    if request.route.endswith("/messages"):
        return _anthropic_message(turn, request)
    return _completion(turn, request)


def _encoded_pieces(turn: Turn, request: Request) -> Iterator[bytes]:
    if turn.body is not None:
        yield turn.body
        return
    for piece in _spoken(turn, request):
        yield json.dumps(piece).encode()


def _spoken(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    if request.route.endswith("/responses"):
        return _response_pieces(turn, request)
    if request.route.endswith("/messages"):
        return _anthropic_pieces(turn, request)
    return _pieces(turn, request)


def _finish_reason(turn: Turn) -> str:
    if turn.finish_reason is not None:
        return turn.finish_reason
    return "tool_calls" if turn.tool_calls else "stop"


def _completion(turn: Turn, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.thinking_blocks:
        message["thinking_blocks"] = list(turn.thinking_blocks)
    if turn.tool_calls:
        message["tool_calls"] = list(turn.tool_calls)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
    return {
        "id": f"chatcmpl-{next(_ids)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.body.get("model"),
        "choices": [choice],
        "usage": _usage(turn),
    }


def _pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed completion, `[DONE]` left out."""
    frame = {
        "id": f"chatcmpl-{next(_ids)}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": request.body.get("model"),
    }
    for delta in _deltas(turn):
        yield {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(turn)}]}
    if request.body.get("stream_options", {}).get("include_usage"):
        yield {**frame, "choices": [], "usage": _usage(turn)}


def _deltas(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _split(turn.reasoning, turn.piece_chars):
        yield {"reasoning_content": piece}
    for block in turn.thinking_blocks:
        yield {"thinking_blocks": [block]}
    for piece in _split(turn.text, turn.piece_chars):
        yield {"content": piece}
    for index, tool_call in enumerate(turn.tool_calls):
        function = tool_call["function"]
        head = {"index": index, "id": tool_call["id"], "type": "function"}
        yield {"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in _split(function["arguments"], turn.piece_chars):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _split(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _response(turn: Turn, request: Request) -> dict[str, Any]:
    is_cut = turn.finish_reason == "length"
    return {
        "id": f"resp_{next(_ids)}",
        "object": "response",
        "created_at": int(time.time()),
        "model": request.body.get("model"),
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "output": _output(turn),
        "usage": {
            "input_tokens": turn.prompt_tokens,
            "input_tokens_details": {"cached_tokens": turn.cached_tokens},
            "output_tokens": turn.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
            "total_tokens": turn.prompt_tokens + turn.completion_tokens,
        },
    }


def _output(turn: Turn) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if turn.reasoning or turn.encrypted_reasoning:
        summary = [{"type": "summary_text", "text": turn.reasoning}] if turn.reasoning else []
        encrypted = turn.encrypted_reasoning or None
        reasoning = {"type": "reasoning", "summary": summary, "encrypted_content": encrypted}
        items.append({"id": f"rs_{next(_ids)}", **reasoning})
    if turn.text:
        parts = [{"type": "output_text", "text": turn.text, "annotations": []}]
        said = {"type": "message", "role": "assistant", "status": "completed", "content": parts}
        items.append({"id": f"msg_{next(_ids)}", **said})
    for call in turn.tool_calls:
        asked = {"type": "function_call", "call_id": call["id"], "status": "completed", **call["function"]}
        items.append({"id": f"fc_{next(_ids)}", **asked})
    return items


def _response_pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """The events of a streamed response."""
    response = _response(turn, request)
    yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        for kind, text in _streamed_texts(item):
            for piece in _split(text, turn.piece_chars):
                yield {"type": kind, "item_id": item["id"], "output_index": index, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _streamed_texts(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match item["type"]:
        case "reasoning":
            yield from (("response.reasoning_summary_text.delta", part["text"]) for part in item["summary"])
        case "message":
            yield from (("response.output_text.delta", part["text"]) for part in item["content"])
        case _:
            yield "response.function_call_arguments.delta", item["arguments"]


def _anthropic_message(turn: Turn, request: Request) -> dict[str, Any]:
    content: list[dict[str, Any]] = [*turn.thinking_blocks]
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    for call in turn.tool_calls:
        function = call["function"]
        arguments = json.loads(function["arguments"])
        content.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    return {
        "id": f"msg_{next(_ids)}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if turn.tool_calls else "end_turn",
        "usage": {
            "input_tokens": turn.prompt_tokens - turn.cached_tokens,
            "output_tokens": turn.completion_tokens,
            "cache_read_input_tokens": turn.cached_tokens,
            "cache_creation_input_tokens": 0,
        },
    }


def _anthropic_pieces(turn: Turn, request: Request) -> Iterator[dict[str, Any]]:
    """The events of a streamed message."""
    message = _anthropic_message(turn, request)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty, deltas = _anthropic_block(block, turn.piece_chars)
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    usage = {"output_tokens": turn.completion_tokens}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _anthropic_block(block: dict[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """What a block is at its start, where its pieces are yet to come, and these."""
    match block["type"]:
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": p} for p in _split(block["thinking"], size)]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"thinking": "", "signature": ""}, [*pieces, signed]
        case "text":
            return {"text": ""}, [{"type": "text_delta", "text": p} for p in _split(block["text"], size)]
        case "tool_use":
            written = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": p} for p in _split(written, size)]
            return {"input": {}}, pieces
        case _:
            return {}, []
