"""Each operation answers generated requests as documented. It does not fail and does not hang."""

from pathlib import Path

import pytest

from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_server import KEY, AgentServer
from tests.support.fuzzing import LIMIT_SECONDS, fuzz
from tests.support.scripted_llm import ScriptedLLM, say


@pytest.mark.timeout(LIMIT_SECONDS)
def test_every_operation_answers_whatever_is_sent_as_it_documents(
    own_server: AgentServer, scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.fallback = scripted_llm.aside = say("Hm.")
    own_server.start()
    conversation = own_server.call("POST", "/api/conversations", json=start_request(scripted_llm, tmp_path))

    workspace = str(own_server.path / "project")
    fuzz(own_server.url, {"X-Session-API-Key": KEY}, conversation["id"], workspace, tmp_path)

    assert own_server.call("GET", "/health") == {"status": "ok"}
