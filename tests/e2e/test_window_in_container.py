"""A container has no model catalogue: the app server sends the prices and the context window with
the model.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, say
from tests.support.server import (
    AppServerProcess,
    conversation,
    events,
    start_conversation,
    wait_for_status,
)

pytestmark = [pytest.mark.timeout(600), pytest.mark.docker]

WINDOW, PROMPT_PRICE, REPLY_PRICE = 16385, 0.5e-6, 1.5e-6
PROMPTS = (3000, 6000, 9000, 12000, 14000)


def test_cost_window_and_condensation_are_real(tmp_path: Path, scripted_llm: ScriptedLLM) -> None:
    sandbox_image()
    scripted_llm.aside = say("A title")
    turns = iter([replace(call("terminal", command=f"seq {size}"), prompt_tokens=size) for size in PROMPTS])

    def answer(request: Request) -> Turn:
        if not request.tool_names:
            return say("Much was counted.")
        return next(turns, say("Done."))

    scripted_llm.fallback = answer
    with AppServerProcess(tmp_path / "home", sandbox="docker") as server, server.client() as client:
        llm = {
            "model": "openai/gpt-3.5-turbo",
            "base_url": scripted_llm.base_url,
            "api_key": scripted_llm.api_key,
            "max_budget_per_task": 5,
        }
        client.post("/settings/profiles/scripted", json={"llm": llm}).raise_for_status()
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        conversation_id = start_conversation(client, "Count", confirmation_mode="never")
        wait_for_status(client, conversation_id, "finished")

        log = events(client, conversation_id)
        assert any(event["kind"] == "Condensation" for event in log)
        metrics = conversation(client, conversation_id)["metrics"]
    used = metrics["accumulated_token_usage"]
    paid = used["prompt_tokens"] * PROMPT_PRICE + used["completion_tokens"] * REPLY_PRICE
    assert used["context_window"] == WINDOW
    assert metrics["accumulated_cost"] == pytest.approx(paid)
    assert paid > 0
