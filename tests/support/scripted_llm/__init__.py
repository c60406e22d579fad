"""A scripted model: a real HTTP server on loopback. It speaks OpenAI's chat completions and Responses, and
Anthropic's messages, each of them streaming or not.

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

A turn is how the model answers one request. Turns are used in order. `hold(turn)` keeps the answer back until
`.release()` is called:

        reply = hold(say("done"))
        scripted_llm.script(reply)
        await scripted_llm.wait_for_requests(1)            # the model is "thinking" now
        reply.release()

The server runs in its own threads, so synchronous tests, asynchronous tests and other processes can use it.
"""

from tests.support.scripted_llm.server import ScriptedLLM
from tests.support.scripted_llm.turns import (
    Request,
    Turn,
    call,
    calls,
    cut,
    fail,
    hang,
    hold,
    raw,
    say,
    text_of,
)

__all__ = [
    "Request",
    "ScriptedLLM",
    "Turn",
    "call",
    "calls",
    "cut",
    "fail",
    "hang",
    "hold",
    "raw",
    "say",
    "text_of",
]
